import { ErrorCode, isRpcError, printable, RpcError, WireError } from "callwire";
import { type McpClient, mcpClient, OAuthError, type TokenStore } from "callwire/mcp/client";
import { callFailure } from "../call-failure.ts";
import { version } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { isNotEndpoint } from "../inspect/prober.ts";
import { isHttpUrl } from "../link-from-url.ts";
import { didYouMean } from "../nearest.ts";
import { stopped, stopSignal } from "../process-end.ts";
import type { Transcript } from "../transcript.ts";
import { Dialog } from "./dialog.ts";
import { IdleTimeout } from "./idle-timeout.ts";
import { wireFrom } from "./mcp-wire.ts";
import { errorHint } from "./requests.ts";
import { SignIn } from "./sign-in.ts";

export interface AskServerOptions {
  readonly url: string;
  /** The tool, resource or prompt; empty for lists. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly transcript: Transcript | undefined;
  /** Limit for the silence of the server. */
  readonly timeoutMs: number;
  /** Undefined if signing in is not possible. */
  readonly tokens: TokenStore | undefined;
  /** The names that exist, for suggestions. */
  readonly names?: ((client: McpClient) => Promise<readonly string[]>) | undefined;
}

/** Sends a request to an MCP server; the user answers its questions. Closes everything at the end and on Ctrl-C. */
export async function askServer<T>(
  options: AskServerOptions,
  ask: (client: McpClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { url, headers, transcript, timeoutMs, tokens } = options;
  const stop = stopSignal();
  const idle = new IdleTimeout(timeoutMs);
  const authorization = tokens && new SignIn(tokens, idle, stop);
  const wire = wireFrom(url, {
    headers,
    authorization,
    tap(text, direction) {
      idle.restart();
      transcript?.[direction](text);
    },
  });
  await using client = mcpClient(wire, {
    ...{ name: "callwire", version },
    // The user may take any time; IdleTimeout limits the server.
    timeoutMs: Number.POSITIVE_INFINITY,
    // Show every result, even if it does not match its schema.
    checkOutput: false,
    ...(Dialog.isPossible && (await handlers(idle, stop))),
  });
  const ending = AbortSignal.any([stop, idle.signal]);
  ending.addEventListener("abort", () => void client.close(), { once: true });
  try {
    return await ask(client, ending);
  } catch (error) {
    if (stop.aborted) throw stopped("cancelled", error);
    if (!idle.signal.aborted) {
      const hasBegun = client.server !== undefined;
      const better = hasBegun ? undefined : await wrongMcpAddress(url, headers, error);
      if (better !== undefined) throw better;
      throw failureOf(error, options).advised(await suggestion(client, error, options));
    }
    const message = `${url}: no reply within ${timeoutMs / 1_000} s`;
    throw new Failure(message, { cause: error, exitCode: 3 });
  } finally {
    await authorization?.close();
  }
}

/** Loaded only with a terminal. */
async function handlers(idle: IdleTimeout, stop: AbortSignal) {
  const { elicitation } = await import("./elicitation.ts");
  return elicitation(new Dialog(stop), idle);
}

async function suggestion(
  client: McpClient,
  error: unknown,
  { name, names }: AskServerOptions,
): Promise<string> {
  if (names === undefined || !isRpcError(error, ErrorCode.InvalidParams)) return "";
  const known = await names(client).catch((): readonly string[] => []);
  return known.includes(name) ? "" : didYouMean(name, known);
}

function failureOf(error: unknown, { url, name }: AskServerOptions): Failure {
  if (error instanceof OAuthError) {
    const message = `${url}: signing in failed: ${printable(oneLine(error))}`;
    return new Failure(message, { cause: error, exitCode: 1 });
  }
  const what = error instanceof RpcError && name !== "" ? name : url;
  const failure = callFailure(what, error);
  const hint = errorHint(error);
  if (hint === undefined) return failure;
  const { exitCode } = failure;
  return new Failure(`${failure.message}; ${hint}`, { cause: error, exitCode });
}

/** The failure for an address without MCP, with the usual path if that has it; undefined for other errors. */
async function wrongMcpAddress(
  url: string,
  headers: Readonly<Record<string, string>>,
  error: unknown,
): Promise<Failure | undefined> {
  const isMethods = isRpcError(error, ErrorCode.MethodNotFound);
  const isNothing = error instanceof WireError && isNotEndpoint(error.status);
  if (!isHttpUrl(url) || !(isMethods || isNothing)) return undefined;
  const usual = new URL("/mcp", url).href;
  const isThere = usual !== url && (await isMcpServer(usual, headers));
  const what = isMethods ? "; it is not an MCP address" : "";
  return callFailure(url, error).advised(
    what + (isThere ? `; try ${usual}` : isNothing ? "; check the path" : ""),
  );
}

async function isMcpServer(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  const wire = wireFrom(url, { headers, authorization: undefined, tap: undefined });
  await using client = mcpClient(wire, { name: "callwire", version, timeoutMs: 2000 });
  return await client.connect().then(
    () => true,
    // A server that requires authorization is there.
    (error: unknown) => error instanceof WireError && error.status === 401,
  );
}
