import { ErrorCode } from "callwire";
import { Failure } from "../failure.ts";
import { memberOf } from "../json-values.ts";
import { credentialAdvice } from "../server-options.ts";
import { pathAdvice, wrongAddress } from "../wrong-address.ts";
import { codeOf, isAnswered, isNotEndpoint, type Outcome, type Prober } from "./prober.ts";

export interface FirstCallOptions {
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Tried if the call of an unknown method does not get a proper reply. */
  readonly second?: { readonly method: string; readonly params: readonly unknown[] };
}

/** Calls an unknown method; rejects if the reply is not JSON-RPC. */
export async function firstCall(
  url: string,
  prober: Prober,
  options: FirstCallOptions,
): Promise<Outcome> {
  const { second } = options;
  const first = await prober.send(prober.request());
  if (isAnswered(first)) return first;
  if (second !== undefined && first.failed === undefined) {
    const request = prober.request(second);
    const other = await prober.send(request);
    // A late reply to the first call has another id.
    if (isAnswered(other) && memberOf(other.payload, "id") === request.id) return other;
  }
  throw await refusal(url, first, options);
}

export function requiresAuthorization({ payload, http }: Outcome): boolean {
  // Other servers use this code for other errors; over HTTP the status decides.
  const isRefusal = codeOf(payload) === ErrorCode.Unauthenticated;
  return http === undefined ? isRefusal : http.status === 401;
}

export function authorizationRequired(url: string, status: number | undefined): Failure {
  const reply = status === undefined ? "-32001 Unauthenticated" : `HTTP ${status}`;
  const message = `${url} requires authorization (${reply})`;
  return new Failure(message + credentialAdvice(url), { exitCode: 1 });
}

/** Distinguishes unreachable, silent and non-JSON-RPC servers. */
async function refusal(
  url: string,
  { http, failed }: Outcome,
  { timeoutMs, headers }: FirstCallOptions,
): Promise<Failure> {
  const status = http?.status ?? failed?.status;
  if (status === 401 || status === 403) return authorizationRequired(url, status);
  if (failed?.code === "TIMEOUT") {
    const hint = /^(tcp|tls|unix|stdio):/.test(url) ? "; try another --framing" : "";
    const text = `${url} accepts calls but did not reply within ${timeoutMs / 1000} s${hint}`;
    return new Failure(text, { cause: failed, exitCode: 3, report: { code: "TIMEOUT" } });
  }
  if (failed !== undefined) {
    const better = await wrongAddress(url, failed, headers);
    if (better !== undefined) return better;
    const what =
      failed.code === "CONNECTION_FAILED"
        ? "is not reachable"
        : "accepts connections but closes them on the first call";
    const report = { code: failed.code };
    return new Failure(`${url} ${what}: ${failed.message}`, { cause: failed, exitCode: 3, report });
  }
  const reply = http === undefined ? "a message" : `HTTP ${http.status} ${http.type ?? ""}`.trim();
  const advice = isNotEndpoint(http?.status) ? `; ${await pathAdvice(url, headers)}` : "";
  return new Failure(`${url} does not answer with JSON-RPC, but ${reply}${advice}`, {
    exitCode: 1,
  });
}
