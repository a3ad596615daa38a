import type { CallOptions, Client } from "callwire";
import { printable } from "callwire";
import type { OpenrpcMethod } from "callwire/openrpc";

/** The methods of rpc.discover, by name; empty if the document is invalid. */
export async function describedMethods(
  client: Client,
  options: CallOptions = {},
): Promise<Map<string, OpenrpcMethod>> {
  const { readDocument } = await import("callwire/openrpc");
  const document: unknown = await client.call("rpc.discover", undefined, options);
  try {
    const { methods } = readDocument(document);
    // A name with control characters cannot be typed.
    const typable = methods.filter(({ name }) => printable(name) === name);
    return new Map(typable.map((method) => [method.name, method]));
  } catch {
    return new Map();
  }
}

/** The same for suggestions: waits at most 5 s, and never rejects. */
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
