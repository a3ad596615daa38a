import type { Clock, Timer } from "../protocol/clock.ts";
import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import { nextId, type Reply } from "../protocol/message.ts";
import type { Version } from "../protocol/parse.ts";
import { fromServer } from "./failures.ts";
import type { Target } from "./target.ts";

/** How the gateway checks whether targets are available. */
export interface HealthCheckOptions {
  /** The method to call; an error counts as an answer too. @default "rpc.discover" */
  readonly method?: string;
  /** Time between checks; a target that is down is checked every second. @default 10000 */
  readonly everyMs?: number;
  /** How long an answer may take. @default 2000 */
  readonly timeoutMs?: number;
}

/** How soon a target that is down is checked again, and how often a target may be checked early. */
const awayMs = 1_000;

export interface HealthWatch {
  /** Resolves after each target was checked once. */
  readonly begun: Promise<void>;
  /** Checks a target now, because a connection to it was lost. */
  suspect(target: Target): void;
  stop(): void;
}

/** Checks each target at once and then periodically. */
export function watchHealth(
  targets: readonly Target[],
  version: Version | undefined,
  clock: Clock,
  options: HealthCheckOptions = {},
): HealthWatch {
  const { method = "rpc.discover", everyMs = 10_000, timeoutMs = 2_000 } = options;
  const timers = new Map<Target, Timer>();
  /** When each target was last checked early. */
  const suspected = new Map<Target, number>();
  let stopped = false;
  let mayBeStarting = true;
  const started = clock.after(everyMs, () => {
    mayBeStarting = false;
  });
  const watch = async (target: Target, isEarly = false): Promise<void> => {
    timers.delete(target);
    const failure: unknown = await ask(target.link, method, version, timeoutMs, clock).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (stopped) return;
    // A target that has just restarted may be back sooner than the next check.
    target.looked(failure, mayBeStarting || isEarly);
    // A target that was down gets calls only after the next check.
    const nextMs = target.isUp ? everyMs : Math.min(everyMs, awayMs);
    timers.set(
      target,
      clock.after(nextMs, () => void watch(target)),
    );
  };
  return {
    begun: Promise.all(targets.map((target) => watch(target))).then(() => undefined),
    suspect(target) {
      const timer = timers.get(target);
      const now = clock.elapsed();
      const lastMs = suspected.get(target) ?? Number.NEGATIVE_INFINITY;
      // A target that is down is checked every second anyway.
      if (stopped || timer === undefined || !target.isUp || now - lastMs < awayMs) return;
      suspected.set(target, now);
      timer.cancel();
      void watch(target, true);
    },
    stop() {
      stopped = true;
      started.cancel();
      for (const timer of timers.values()) timer.cancel();
    },
  };
}

/** Makes a call on the gateway's own behalf. Rejects if there is no answer in time. */
export function ask(
  link: Link,
  method: string,
  version: Version | undefined,
  timeoutMs: number,
  clock: Clock,
): Promise<Reply | undefined> {
  const outgoing: Outgoing = {
    cancel: undefined,
    item: () => undefined,
    progress() {},
    gap() {},
    headers: undefined,
    idempotent: true,
    // A rejection is an answer too.
    goesElsewhere: true,
  };
  return new Promise((resolve, reject) => {
    const late = clock.after(timeoutMs, () => {
      const error = new WireError("TIMEOUT", `${method} did not answer in time`);
      outgoing.cancel?.(error);
      reject(error);
    });
    const jsonrpc = version === "1.0" ? undefined : "2.0";
    fromServer(link.send({ jsonrpc, method, params: undefined, id: nextId() }, outgoing))
      .then(resolve, reject)
      .finally(() => late.cancel());
  });
}
