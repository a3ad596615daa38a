import { type Client, ErrorCode, isRpcError } from "callwire";
import { callFailure } from "./call-failure.ts";
import { knownMethods } from "./described-methods.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { credentialAdvice } from "./server-options.ts";
import { wrongAddress } from "./wrong-address.ts";

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
