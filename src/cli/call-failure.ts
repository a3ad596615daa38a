import { type Client, ErrorCode, isRpcError, printable, RpcError, WireError } from "callwire";
import { knownMethods } from "./described-methods.ts";
import { type ExitCode, Failure, oneLine } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { credentialAdvice, hasAuthorization } from "./server-options.ts";
import { wrongAddress } from "./wrong-address.ts";

export function callFailure(what: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    const report = { code, message, ...(data === undefined ? undefined : { data }) };
    const text = `${what} answered ${errorText(error)}`;
    return new Failure(text, { cause: error, exitCode: 1, report });
  }
  // Several wires already begin their message with the address.
  const reason = oneLine(error);
  const text = reason.startsWith(what) ? reason : `${what}: ${reason}`;
  const report = error instanceof WireError ? { code: error.code } : {};
  return new Failure(text, { cause: error, exitCode: exitCodeOf(error), report });
}

export function errorText(error: {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): string {
  const data = error.data === undefined ? "" : ` ${JSON.stringify(error.data)}`;
  return printable(`${error.code} ${error.message}${data}`);
}

function exitCodeOf(error: unknown): ExitCode {
  // Such as an invalid header: a mistake in the command.
  if (!(error instanceof WireError)) return 2;
  return error.code === "BAD_REPLY" || error.code === "HTTP_STATUS" ? 1 : 3;
}

/** The error with which a server refused a connection; over HTTP it would have refused the call. */
function refusalOf(error: unknown): unknown {
  const isRefused = error instanceof WireError && error.code === "CONNECTION_FAILED";
  return isRefused && isRpcError(error.cause) ? error.cause : error;
}

export interface Attempt {
  readonly url: string;
  /** The method, if the user chose it. */
  readonly method?: string;
  /** Undefined for verbs without an option for headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Reads the known methods if the method was not found. */
  readonly client?: Client;
  /** Aborts that; the failure then has no suggestion. */
  readonly signal?: AbortSignal;
}

/** The failure of a call, with a suggestion if there is one. */
export async function explainFailure(attempt: Attempt, thrown: unknown): Promise<Failure> {
  if (thrown instanceof Failure) return thrown;
  const { url, method, headers, client, signal } = attempt;
  const better = await wrongAddress(url, thrown, headers);
  if (better !== undefined) return better;
  const error = refusalOf(thrown);
  const failure = callFailure(isRpcError(thrown) ? (method ?? url) : url, error);
  if (isRpcError(error, ErrorCode.Unauthenticated)) {
    if (headers === undefined || hasAuthorization(headers)) return failure;
    return failure.advised(credentialAdvice(url));
  }
  if (!isRpcError(error, ErrorCode.MethodNotFound)) return failure;
  if (client === undefined || method === undefined) return failure;
  const known = await knownMethods(client, { signal });
  return failure.advised(known.has(method) ? "" : didYouMean(method, known.keys()));
}
