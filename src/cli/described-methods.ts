import type { CallOptions, Client } from "callwire";
import { printable } from "callwire";
import type { OpenrpcMethod } from "callwire/openrpc";

/** What a server says that it has, by name; rejects where it answers nothing in the time of the client. */
export async function describedMethods(
  client: Client,
  options: CallOptions = {},
): Promise<Map<string, OpenrpcMethod>> {
  const { readDocument } = await import("callwire/openrpc");
  const document: unknown = await client.call("rpc.discover", undefined, options);
  try {
    const { methods } = readDocument(document);
    // A name that would move the cursor cannot be typed either.
    const typable = methods.filter(({ name }) => printable(name) === name);
    return new Map(typable.map((method) => [method.name, method]));
  } catch {
    return new Map();
  }
}

/** The same for what is said beside, which is not worth a long wait; empty where it does not describe itself. */
export async function knownMethods(
  client: Client,
  options: CallOptions = {},
): Promise<Map<string, OpenrpcMethod>> {
  try {
    return await describedMethods(client, { timeoutMs: 5000, ...options });
  } catch {
    return new Map();
  }
}
