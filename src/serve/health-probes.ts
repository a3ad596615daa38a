import type { Refusal } from "../http/refusal.ts";
import type { MaybePromise } from "../protocol/message.ts";

/** Whether calls may be sent here; `healthChecks` of `callwire/observability` makes one. */
export type Ready = () => MaybePromise<{ readonly ok: boolean }>;

const alive: Refusal = { status: 200, body: '{"status":"ok"}' };
const draining: Refusal = { status: 503, body: '{"status":"draining"}' };
const failed: Refusal = { status: 503, body: '{"status":"not ready"}' };

/** Answers the probes of orchestrators and load balancers; undefined at other paths. */
export function probe(
  path: string,
  isDraining: boolean,
  ready: Ready | undefined,
): MaybePromise<Refusal> | undefined {
  // A server that drains is alive, and must not be killed.
  if (path === "/healthz") return alive;
  if (path !== "/readyz") return undefined;
  if (isDraining) return draining;
  return ready === undefined ? { status: 200, body: '{"status":"ready"}' } : checked(ready);
}

async function checked(ready: Ready): Promise<Refusal> {
  try {
    const { ok, ...details } = await ready();
    const body = JSON.stringify({ status: ok ? "ready" : "not ready", ...details });
    return { status: ok ? 200 : 503, body };
  } catch {
    return failed;
  }
}
