import { type Clock, systemClock } from "../protocol/clock.ts";

/** Resolves where all is well; throws, rejects or gives false where it is not. */
export type HealthCheck = (signal: AbortSignal) => unknown;

export interface HealthOptions {
  /** How long a check may take before it counts as failed. @default 2000 */
  readonly timeoutMs?: number;
  /** How long an answer holds, so that probes cannot load what is checked. @default 1000 */
  readonly cacheMs?: number;
  /** The clock of time-outs and of the cache, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** What the checks came to. */
export interface Health {
  readonly ok: boolean;
  /** How each check ended. Why one failed is not for whoever asks. */
  readonly checks: Readonly<Record<string, "ok" | "failed" | "timed out">>;
}

/**
 * Runs checks of your own when somebody asks: `serveHttp(server, { ready: healthChecks({ database: () => db.ping() }) })`.
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
      // From when the answer comes: checks that take longer than it holds must not run side by side.
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
    // Within a promise, so that a check that throws at once is like any other.
    Promise.resolve()
      .then(() => check(controller.signal))
      .then(
        (result) => end(result === false ? "failed" : "ok"),
        () => end("failed"),
      );
  });
}
