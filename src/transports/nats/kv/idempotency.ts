import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode, RpcError } from "../../../protocol/errors.ts";
import type { Handle, Middleware } from "../../../protocol/handle.ts";
import type { ErrorObject, Reply, Request } from "../../../protocol/message.ts";
import { failure, success } from "../../../protocol/message.ts";
import { errorObjectText, returnedText, typedText } from "../../../protocol/reply-text.ts";
import { didNotRun, outcomeOf } from "../../../protocol/retry-rule.ts";
import { invalidRequest } from "../../../protocol/standard-errors.ts";
import { BucketRetry, type KV, keyName } from "./bucket.ts";
import { claim } from "./claim.ts";
import { holdKey, type LeaseSettings, type Note } from "./lease.ts";

export interface IdempotencyOptions {
  /** Returns the key of a call. @default the header `idempotency-key` */
  readonly key?: (request: Request, context: Context) => string | undefined;
  /**
   * After this time without a sign of its worker a call is taken over and runs again. A worker gives three signs in this time for as long
   * as the method runs, so methods may take longer. @default 10000
   */
  readonly leaseMs?: number;
  /** The time source, for tests. @default the system clock */
  readonly clock?: Clock;
}

/** Errors that say nothing about the call. */
const inconclusive: readonly number[] = [
  ErrorCode.InternalError,
  ErrorCode.RequestTimeout,
  ErrorCode.RequestCancelled,
];

/** Whether the next call with the same key is to run. */
function isTransient(error: ErrorObject | undefined): boolean {
  if (error === undefined) return false;
  return inconclusive.includes(error.code) || didNotRun(error) || outcomeOf(error) !== "final";
}

const longestLeaseMs = 24 * 3_600_000;

/**
 * Runs a call once per key, on whichever worker: a repetition gets the first answer, and waits for it while the first call still runs.
 * The `ttl` of the bucket is how long answers are kept:
 * `idempotency(await new Kvm(connection).create("answers", { ttl: 86_400_000 }))`.
 * @example
 * ```ts
 * import { Kvm } from "@nats-io/kv";
 * import { connect } from "@nats-io/transport-node";
 * import { createServer } from "callwire";
 * import { idempotency } from "callwire/nats/kv";
 *
 * const connection = await connect({ maxReconnectAttempts: -1 });
 * const answers = await new Kvm(connection).create("answers", { ttl: 86_400_000 });
 * const shop = createServer(methods, { use: [idempotency(answers)] });
 * ```
 */
export function idempotency(bucket: KV, options: IdempotencyOptions = {}): Middleware {
  const { key = keyHeader, leaseMs = 10_000, clock = systemClock } = options;
  if (!(leaseMs > 0 && leaseMs <= longestLeaseMs)) {
    throw new TypeError(
      `"leaseMs" must be a number of milliseconds up to ${longestLeaseMs}, not ${leaseMs}`,
    );
  }
  const settings: LeaseSettings = { bucket, retry: new BucketRetry(bucket), leaseMs, clock };
  return (next) => (request, context) => {
    const given = request.id === undefined ? undefined : key(request, context);
    if (given === undefined) return next(request, context);
    return once(settings, given, next, request, context);
  };
}

function keyHeader(_request: Request, { transport }: Context): string | undefined {
  const value = transport.headers["idempotency-key"];
  // Ignoring both keys would run the call without any.
  if (typeof value === "object") {
    const details = "the idempotency key is given more than once";
    throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", { details });
  }
  return value === "" ? undefined : value;
}

async function once(
  settings: LeaseSettings,
  given: string,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  // Principals do not share keys.
  const name = keyName(JSON.stringify([context.principal?.id ?? null, given]));
  const { method, params = null, types = {} } = request;
  const typed = Object.keys(types).length === 0 ? [] : [types];
  const of = keyName(JSON.stringify([method, params, ...typed]));
  const note: Note = { of, by: randomUUID() };
  const claimed = await claim(settings, { name, note }, context);
  if (typeof claimed !== "number") {
    const { result, error, types } = claimed;
    return { ...(error === undefined ? success(result) : failure(error)), types };
  }
  const lease = holdKey(settings, { name, note, revision: claimed }, context);
  let reply: Reply | undefined;
  try {
    reply = await next(request, context);
  } catch (error) {
    await lease.release();
    throw error;
  }
  const stored = storedText(reply, context);
  await (stored === undefined ? lease.release() : lease.answer(stored));
  return reply;
}

/** The answer to store, or undefined if a repetition is to run. */
function storedText(reply: Reply | undefined, context: Context): string | undefined {
  const isStream = context.incoming?.isStream === true;
  // A stream also succeeds if its reader left.
  const isCut = isStream && context.signal.aborted;
  if (reply === undefined || isCut || isTransient(reply.error)) return undefined;
  const error = reply.error ?? (isStream ? streamAnswer : undefined);
  const value = error === undefined ? reply.result : error.data;
  const { incoming } = context;
  const isRich = incoming?.request.types !== undefined && value !== undefined;
  try {
    const typed = isRich ? incoming.values.encode(value) : undefined;
    const json = typed === undefined ? value : typed.value;
    const text =
      error === undefined
        ? `{"result":${returnedText(json)}}`
        : `{"error":${errorObjectText({ code: error.code, message: error.message, data: json })}}`;
    return typed === undefined ? text : typedText(text, typed.types);
  } catch {
    // The result is not JSON, so the caller gets an internal error.
    return undefined;
  }
}

/** Stored for a stream: its result without the items would look complete. */
const streamAnswer: ErrorObject = invalidRequest(
  "the call has run, and the items of a stream are not kept for its key",
);
