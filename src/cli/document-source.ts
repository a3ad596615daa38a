import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { createClient, ErrorCode, isRpcError } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { explainFailure } from "./call-failure.ts";
import type { Flags } from "./command.ts";
import { timeoutOf } from "./command-arguments.ts";
import { Failure, oneLine } from "./failure.ts";
import { fileText } from "./files.ts";
import { parseJson } from "./json-values.ts";
import { isServerUrl, linkFromUrl } from "./link-from-url.ts";
import { unlessStopped } from "./process-end.ts";
import { linkOptionsOf, type serverOptions } from "./server-options.ts";
import { counted, notice } from "./terminal.ts";

const run = promisify(execFile);
/** Longest document that is read from Git. */
const mostBytes = 64 * 1024 * 1024;

/** The OpenRPC document of a server or a file, validated but unchanged. */
export async function documentFrom(
  source: string,
  flags: Flags<typeof serverOptions>,
  { revisions = false }: { readonly revisions?: boolean } = {},
): Promise<OpenrpcDocument> {
  // Most verbs do not need this module.
  const { readDocument } = await import("callwire/openrpc");
  const document = isServerUrl(source)
    ? await discovered(source, flags)
    : revisions && isRevision(source)
      ? await fromGit(source)
      : await fromFile(source);
  try {
    const faults: string[] = [];
    readDocument(document, { onFault: (where) => faults.push(where) });
    const [first] = faults;
    if (first !== undefined) {
      const others = faults.length === 1 ? "" : ` and ${counted(faults.length - 1, "other place")}`;
      notice(`invalid JSON Schema, treated as any value: ${first}${others}`);
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
    const failure = await explainFailure({ url, headers: options.headers }, error);
    if (!isRpcError(error, ErrorCode.MethodNotFound)) throw failure;
    throw failure.advised("; the server does not support rpc.discover");
  }
}

/** A file in a revision, as Git writes it: `HEAD~1:openrpc.json`. Files win, and so do paths of Windows. */
function isRevision(source: string): boolean {
  return /^[^:]{2,}:[^:]+$/.test(source) && !existsSync(source);
}

async function fromGit(revision: string): Promise<unknown> {
  const options = { maxBuffer: mostBytes };
  try {
    // Options end before the name, so that it cannot be one.
    const { stdout } = await run("git", ["show", "--end-of-options", revision], options);
    return parseJson(stdout, revision);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { stderr = "" } = error as { stderr?: string };
    throw new Failure(`${revision}: ${stderr.trim() || oneLine(error)}`, { cause: error });
  }
}

async function fromFile(path: string): Promise<unknown> {
  return parseJson(await fileText(path, "no such file, and not an address"), path);
}
