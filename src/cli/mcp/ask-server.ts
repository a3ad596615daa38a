import { ErrorCode, isRpcError, printable, RpcError, WireError } from "callwire";
import { type McpClient, mcpClient, OAuthError, type TokenStore } from "callwire/mcp/client";
import { callFailure } from "../call-failure.ts";
import { version } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { isNowhere } from "../inspect/prober.ts";
import { isHttpUrl } from "../link-from-url.ts";
import { didYouMean } from "../nearest.ts";
import { stopCode, stopSignal } from "../process-end.ts";
import type { Transcript } from "../transcript.ts";
import { errorHint } from "./hints.ts";
import { Patience } from "./idle-timeout.ts";
import { wireFrom } from "./mcp-wire.ts";
import { Prompt } from "./prompt.ts";
import { SignIn } from "./sign-in.ts";

export interface SpeakingOptions {
  readonly url: string;
  /** What is asked for, such as a tool; empty where a list is. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly transcript: Transcript | undefined;
  /** How long the server may be silent. */
  readonly timeoutMs: number;
  /** Where the tokens of a sign-in go; undefined where there is to be none. */
  readonly tokens: TokenStore | undefined;
  /** All that could be asked for by name. */
  readonly names?: ((client: McpClient) => Promise<readonly string[]>) | undefined;
}

/** Asks a server something, with the help of whoever is at the terminal. All ends with it, and with Ctrl-C. */
export async function speakWith<T>(
  options: SpeakingOptions,
  ask: (client: McpClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { url, headers, transcript, timeoutMs, tokens } = options;
  const stop = stopSignal();
  const patience = new Patience(timeoutMs);
  const authorization = tokens && new SignIn(tokens, patience, stop);
  const wire = wireFrom(url, {
    headers,
    authorization,
    tap(text, direction) {
      patience.restart();
      transcript?.[direction](text);
    },
  });
  await using client = mcpClient(wire, {
    ...{ name: "callwire", version },
    // People take their time, which is not that of the server.
    timeoutMs: Number.POSITIVE_INFINITY,
    // What a tool gave is shown, whether or not it is what was promised.
    checkOutput: false,
    ...(Prompt.isPossible && (await handlers(patience, stop))),
  });
  const ending = AbortSignal.any([stop, patience.signal]);
  ending.addEventListener("abort", () => void client.close(), { once: true });
  try {
    return await ask(client, ending);
  } catch (error) {
    if (stop.aborted) throw new Failure("cancelled", { cause: error, exitCode: stopCode() });
    if (!patience.signal.aborted) {
      const hasBegun = client.server !== undefined;
      const misplaced = hasBegun ? undefined : await wrongPlace(url, headers, error);
      if (misplaced !== undefined) throw misplaced;
      throw failureOf(error, options).advised(await meant(client, error, options));
    }
    const sentence = `${url}: no answer within ${timeoutMs / 1_000} s`;
    throw new Failure(sentence, { cause: error, exitCode: 3 });
  } finally {
    await authorization?.close();
  }
}

/** Loaded only where there is somebody to ask. */
async function handlers(patience: Patience, stop: AbortSignal) {
  const { elicitation } = await import("./elicitation.ts");
  return elicitation(new Prompt(stop), patience);
}

/** The name that was meant, where the server has none like the one that was asked for. */
async function meant(
  client: McpClient,
  error: unknown,
  { name, names }: SpeakingOptions,
): Promise<string> {
  if (names === undefined || !isRpcError(error, ErrorCode.InvalidParams)) return "";
  const known = await names(client).catch((): readonly string[] => []);
  return known.includes(name) ? "" : didYouMean(name, known);
}

/** What went wrong, in one line, and what would help. */
function failureOf(error: unknown, { url, name }: SpeakingOptions): Failure {
  if (error instanceof OAuthError) {
    const sentence = `${url}: no sign-in: ${printable(oneLine(error))}`;
    return new Failure(sentence, { cause: error, exitCode: 1 });
  }
  const what = error instanceof RpcError && name !== "" ? name : url;
  const failure = callFailure(what, error);
  const hint = errorHint(error);
  if (hint === undefined) return failure;
  const { exitCode } = failure;
  return new Failure(`${failure.message}; ${hint}`, { cause: error, exitCode });
}

/** What a failure to begin says of the address, if nobody speaks MCP there; it looks at the usual path instead. */
export async function wrongPlace(
  url: string,
  headers: Readonly<Record<string, string>>,
  error: unknown,
): Promise<Failure | undefined> {
  const isMethods = isRpcError(error, ErrorCode.MethodNotFound);
  const isNothing = error instanceof WireError && isNowhere(error.status);
  if (!isHttpUrl(url) || !(isMethods || isNothing)) return undefined;
  const usual = new URL("/mcp", url).href;
  const isThere = usual !== url && (await speaksMcp(usual, headers));
  const what = isMethods ? "; it is no address of MCP" : "";
  return callFailure(url, error).advised(
    what + (isThere ? `; try ${usual}` : isNothing ? "; is the path right?" : ""),
  );
}

async function speaksMcp(url: string, headers: Readonly<Record<string, string>>): Promise<boolean> {
  const wire = wireFrom(url, { headers, authorization: undefined, tap: undefined });
  await using client = mcpClient(wire, { name: "callwire", version, timeoutMs: 2000 });
  return await client.connect().then(
    () => true,
    // It asks who calls, so there is somebody.
    (error: unknown) => error instanceof WireError && error.status === 401,
  );
}
