import { ErrorCode } from "callwire";
import { Failure } from "../failure.ts";
import { credentialAdvice } from "../server-options.ts";
import { pathAdvice, wrongAddress } from "../wrong-address.ts";
import { codeOf, isAnswered, isNowhere, memberOf, type Outcome, type Prober } from "./prober.ts";

export interface GreetingOptions {
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A call that is made if the first one, of a method that is not there, is not answered properly. */
  readonly second?: { readonly method: string; readonly params: readonly unknown[] };
}

/** The first words: resolves with what came, and rejects where that is no JSON-RPC. */
export async function greeted(
  url: string,
  prober: Prober,
  options: GreetingOptions,
): Promise<Outcome> {
  const { second } = options;
  const first = await prober.send(prober.request());
  if (isAnswered(first)) return first;
  if (second !== undefined && first.failed === undefined) {
    const request = prober.request(second);
    const other = await prober.send(request);
    // What comes late for the first one is no answer to this.
    if (isAnswered(other) && memberOf(other.payload, "id") === request.id) return other;
  }
  throw await refusal(url, first, options);
}

/** Whether a server would first know who calls. */
export function isLocked({ payload, http }: Outcome): boolean {
  const isRefusal = codeOf(payload) === ErrorCode.Unauthenticated;
  // With other servers the code may mean anything, but not the words.
  const says = memberOf(memberOf(payload, "error"), "message");
  return http?.status === 401 || (isRefusal && says === "Unauthenticated");
}

/** What is said of a server that calls without a credential, or with a wrong one, do not get into. */
export function lockedOut(url: string, status: number | undefined): Failure {
  const said = status === undefined ? "-32001 Unauthenticated" : `HTTP ${status}`;
  const sentence = `${url} lets nobody in without authorization (${said})`;
  return new Failure(sentence + credentialAdvice(url), { exitCode: 1 });
}

/** Tells a dead server from a silent one, and both from one that speaks something else. */
async function refusal(
  url: string,
  { http, failed }: Outcome,
  { timeoutMs, headers }: GreetingOptions,
): Promise<Failure> {
  const status = http?.status ?? failed?.status;
  if (status === 401 || status === 403) return lockedOut(url, status);
  if (failed?.code === "TIMEOUT") {
    const hint = /^(tcp|tls|unix|stdio):/.test(url) ? "; it may use another --framing" : "";
    const text = `${url} is silent: it takes the call and gave no answer within ${timeoutMs / 1000} s${hint}`;
    return new Failure(text, { cause: failed, exitCode: 3, report: { code: "TIMEOUT" } });
  }
  if (failed !== undefined) {
    const misplaced = await wrongAddress(url, failed, headers);
    if (misplaced !== undefined) return misplaced;
    const what =
      failed.code === "CONNECTION_FAILED"
        ? "is dead"
        : "takes connections and ends them when it is called";
    const report = { code: failed.code };
    return new Failure(`${url} ${what}: ${failed.message}`, { cause: failed, exitCode: 3, report });
  }
  const said = http === undefined ? "something" : `HTTP ${http.status} ${http.type ?? ""}`.trim();
  const advice = isNowhere(http?.status) ? `; ${await pathAdvice(url, headers)}` : "";
  return new Failure(`${url} answers ${said}, and no JSON-RPC${advice}`, { exitCode: 1 });
}
