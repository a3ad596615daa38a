import { type Clock, systemClock } from "../protocol/clock.ts";

/** A check fails if it throws, rejects or returns false. */
export type HealthCheck = (signal: AbortSignal) => unknown;

export interface HealthOptions {
  /** Timeout of each check. @default 2000 */
  readonly timeoutMs?: number;
  /** How long a result is reused; stops probes from overloading what is checked. @default 1000 */
  readonly cacheMs?: number;
  /** Measures timeouts and the age of results. @default the system clock */
  readonly clock?: Clock;
}

/** The result of all checks. */
export interface Health {
  /** Whether all checks passed. */
  readonly ok: boolean;
  /** The result of each check, without the reason of a failure. */
  readonly checks: Readonly<Record<string, "ok" | "failed" | "timed out">>;
}

/**
 * Runs your checks on each probe: `serveHttp(server, { ready: healthChecks({ database: () => db.ping() }) })`.
 * @example
 * ```ts
 * import { serveHttp } from "callwire/http/node";
 * import { healthChecks } from "callwire/observability";
 *
 * declare const database: { ping(signal: AbortSignal): Promise<void> };
 * const ready = healthChecks({ database: (signal) => database.ping(signal) }, { timeoutMs: 500 });
 * await serveHttp(server, { ready }); // /readyz answers 503 while a check fails
 * ```
 */
export function healthChecks(
  checks: Readonly<Record<string, HealthCheck>>,
  options: HealthOptions = {},
): () => Promise<Health> {
  const { timeoutMs = 2000, cacheMs = 1000, clock = systemClock } = options;
  let latest: Promise<Health> | undefined;
  let holdsUntil = 0;
  return () => {
    if (latest === undefined || clock.elapsed() >= holdsUntil) {
      // Caching starts with the result, so that slow checks never overlap.
      holdsUntil = Number.POSITIVE_INFINITY;
      latest = runAll(checks, timeoutMs, clock);
      void latest.then(() => {
        holdsUntil = clock.elapsed() + cacheMs;
      });
    }
    return latest;
  };
}

async function runAll(
  checks: Readonly<Record<string, HealthCheck>>,
  timeoutMs: number,
  clock: Clock,
): Promise<Health> {
  const ended = await Promise.all(
    Object.entries(checks).map(
      async ([name, check]) => [name, await runOne(check, timeoutMs, clock)] as const,
    ),
  );
  return { ok: ended.every(([, outcome]) => outcome === "ok"), checks: Object.fromEntries(ended) };
}

function runOne(
  check: HealthCheck,
  timeoutMs: number,
  clock: Clock,
): Promise<"ok" | "failed" | "timed out"> {
  const controller = new AbortController();
  return new Promise((resolve) => {
    const late = clock.after(timeoutMs, () => {
      resolve("timed out");
      controller.abort();
    });
    const end = (outcome: "ok" | "failed"): void => {
      late.cancel();
      resolve(outcome);
    };
    // In a promise, so that a synchronous exception is handled too.
    Promise.resolve()
      .then(() => check(controller.signal))
      .then(
        (result) => end(result === false ? "failed" : "ok"),
        () => end("failed"),
      );
  });
}
