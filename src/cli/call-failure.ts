import { type Client, ErrorCode, isRpcError, printable, RpcError, WireError } from "callwire";
import { knownMethods } from "./described-methods.ts";
import { type ExitCode, Failure, oneLine } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { credentialAdvice } from "./server-options.ts";
import { wrongAddress } from "./wrong-address.ts";

/** What went wrong with a call, in one line, with the exit code that tells scripts the same. */
export function callFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    const report = { code, message, ...(data === undefined ? undefined : { data }) };
    const text = `${what} answered ${errorText(error)}`;
    return new Failure(text, { cause: error, exitCode: 1, report });
  }
  // Several of the wires name the address themselves.
  const said = oneLine(error);
  const text = said.startsWith(what) ? said : `${what}: ${said}`;
  const report = error instanceof WireError ? { code: error.code } : {};
  return new Failure(text, { cause: error, exitCode: exitCodeOf(error), report });
}

/** The code, the message and the data of an error. */
export function errorText(error: {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): string {
  const data = error.data === undefined ? "" : ` ${JSON.stringify(error.data)}`;
  return printable(`${error.code} ${error.message}${data}`);
}

function exitCodeOf(error: unknown): ExitCode {
  // Such as a header that cannot be sent: a mistake in the command.
  if (!(error instanceof WireError)) return 2;
  return error.code === "BAD_REPLY" || error.code === "HTTP_STATUS" ? 1 : 3;
}

export interface Attempt {
  readonly url: string;
  /** What was called, where that was a method of the user's choice. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Asks which methods there are, where one was not found. */
  readonly client?: Client;
  /** Ends that, and what went wrong is then told alone. */
  readonly signal?: AbortSignal;
}

/** What went wrong with a call, and what may have been meant instead. */
export async function explainedFailure(attempt: Attempt, error: unknown): Promise<Failure> {
  if (error instanceof Failure) return error;
  const { url, method, headers, client, signal } = attempt;
  const misplaced = await wrongAddress(url, error, headers);
  if (misplaced !== undefined) return misplaced;
  const failure = callFailure(isRpcError(error) ? (method ?? url) : url, error);
  if (isRpcError(error, ErrorCode.Unauthenticated)) {
    // A verb without headers has no option for them.
    if (headers === undefined) return failure;
    const hasOne = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
    return hasOne ? failure : failure.advised(credentialAdvice(url));
  }
  if (!isRpcError(error, ErrorCode.MethodNotFound)) return failure;
  if (client === undefined || method === undefined) return failure;
  const known = await knownMethods(client, { signal });
  return failure.advised(known.has(method) ? "" : didYouMean(method, known.keys()));
}
