import { Answerer } from "../protocol/answer.ts";
import { methodNotFound } from "../protocol/errors.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import { failure } from "../protocol/message.ts";
import type { ServerRunning } from "../protocol/server-running.ts";

/** An end that only calls still answers: with "Method not found". */
export function withoutMethods(running: ServerRunning, limits: Limits, log: Log): Answerer {
  return new Answerer(() => failure(methodNotFound), {
    running,
    limits,
    log,
    versions: new Set(["2.0"]),
    allowNullParams: false,
    timeoutMs: undefined,
    maxRunning: Number.POSITIVE_INFINITY,
  });
}
