import { readFile } from "node:fs/promises";
import { createClient, RpcError, WireError } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import type { Flags, Options } from "./command.ts";
import { Failure, oneLine } from "./failure.ts";
import { isServerUrl, linkFromUrl } from "./link-from-url.ts";

/** How a server is asked; the same for all verbs that read a document. */
export const sourceOptions = {
  header: { type: "string", short: "H", value: "name: value", description: "send this header" },
  timeout: {
    type: "string",
    value: "ms",
    description: "wait so long for the answer (default 10000)",
  },
} as const satisfies Options;

/** The OpenRPC document of a server, or one in a file; as it was written, but checked. */
export async function documentFrom(
  source: string,
  flags: Flags<typeof sourceOptions>,
): Promise<OpenrpcDocument> {
  // Loaded here, because most verbs do without it.
  const { readDocument } = await import("callwire/openrpc");
  const document = isServerUrl(source) ? await discovered(source, flags) : await fromFile(source);
  try {
    readDocument(document);
  } catch (error) {
    const exitCode = isServerUrl(source) ? 1 : 2;
    throw new Failure(`${source}: ${oneLine(error)}`, { cause: error, exitCode });
  }
  return document as OpenrpcDocument;
}

async function discovered(url: string, flags: Flags<typeof sourceOptions>): Promise<unknown> {
  const timeoutMs = timeoutOf(flags.timeout);
  const link = await linkFromUrl(url, { headers: headersOf(flags.header) });
  await using client = createClient(link, { timeoutMs });
  try {
    return await client.call("rpc.discover");
  } catch (error) {
    throw failureOf(url, error);
  }
}

function failureOf(url: string, error: unknown): Failure {
  if (error instanceof RpcError) {
    const hint = error.code === -32601 ? "; it does not describe itself" : "";
    const text = `${url} answered ${error.code} ${error.message}${hint}`;
    return new Failure(text, { cause: error, exitCode: 1 });
  }
  const answered = error instanceof WireError && ["BAD_REPLY", "HTTP_STATUS"].includes(error.code);
  return new Failure(`${url}: ${oneLine(error)}`, { cause: error, exitCode: answered ? 1 : 3 });
}

async function fromFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as { code?: string };
    const why = code === "ENOENT" ? "there is no such file, and it is no address" : oneLine(error);
    throw new Failure(`${path}: ${why}`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${path} holds no JSON: ${oneLine(error)}`, { cause: error });
  }
}

/** The header that a flag gives, as `name: value`. */
export function headersOf(header: string | undefined): Record<string, string> {
  if (header === undefined) return {};
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(header) ?? [];
  if (name !== undefined && value !== undefined) return { [name]: value };
  throw new Failure(`--header is "name: value", not ${JSON.stringify(header)}`);
}

function timeoutOf(text = "10000"): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Failure(`--timeout is a number of milliseconds, not ${JSON.stringify(text)}`);
}
