import { createClient, ErrorCode, isRpcError } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { explainedFailure } from "./call-failure.ts";
import type { Flags } from "./command.ts";
import { Failure, oneLine } from "./failure.ts";
import { isServerUrl, linkFromUrl } from "./link-from-url.ts";
import { fileText } from "./params.ts";
import { unlessStopped } from "./process-end.ts";
import { linkOptionsOf, type serverOptions, timeoutOf } from "./server-options.ts";
import { counted, notice } from "./terminal.ts";

/** The OpenRPC document of a server, or one in a file; as it was written, but checked. */
export async function documentFrom(
  source: string,
  flags: Flags<typeof serverOptions>,
): Promise<OpenrpcDocument> {
  // Loaded here, because most verbs do without it.
  const { readDocument } = await import("callwire/openrpc");
  const document = isServerUrl(source) ? await discovered(source, flags) : await fromFile(source);
  try {
    const faults: string[] = [];
    readDocument(document, { onFault: (where) => faults.push(where) });
    const [first] = faults;
    if (first !== undefined) {
      const others = faults.length === 1 ? "" : ` and ${counted(faults.length - 1, "other place")}`;
      notice(`not JSON Schema, and read as anything: ${first}${others}`);
    }
  } catch (error) {
    const exitCode = isServerUrl(source) ? 1 : 2;
    throw new Failure(`${source}: ${oneLine(error)}`, { cause: error, exitCode });
  }
  return document as OpenrpcDocument;
}

async function discovered(url: string, flags: Flags<typeof serverOptions>): Promise<unknown> {
  const timeoutMs = timeoutOf(flags.timeout);
  const options = linkOptionsOf(flags);
  const link = await linkFromUrl(url, options);
  await using client = createClient(link, { timeoutMs });
  try {
    return await unlessStopped(client.call("rpc.discover"));
  } catch (error) {
    const failure = await explainedFailure({ url, headers: options.headers }, error);
    if (!isRpcError(error, ErrorCode.MethodNotFound)) throw failure;
    throw failure.advised("; it does not describe itself");
  }
}

async function fromFile(path: string): Promise<unknown> {
  const text = await fileText(path, "there is no such file, and it is no address");
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${path} holds no JSON: ${oneLine(error)}`, { cause: error });
  }
}
