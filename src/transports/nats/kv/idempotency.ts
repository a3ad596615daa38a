import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../protocol/clock.ts";
import { CallContext, type Context } from "../../../protocol/context.ts";
import { ErrorCode, invalidRequest, RpcError } from "../../../protocol/errors.ts";
import type { Handle, Middleware } from "../../../protocol/handle.ts";
import type { ErrorObject, Reply, Request } from "../../../protocol/message.ts";
import { failure, success } from "../../../protocol/message.ts";
import { errorObjectText, returnedText } from "../../../protocol/serialize.ts";
import { Claim } from "./claim.ts";
import type { KV } from "./client-library.ts";
import { keyName } from "./key-name.ts";
import { Lease, type Note } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { Outage } from "./outage.ts";

export interface IdempotencyOptions {
  /** What a caller says to be answered once. @default the header `idempotency-key` */
  readonly key?: (request: Request, context: Context) => string | undefined;
  /**
   * After this time without a sign of its worker a call is taken over. A worker gives a sign three times
   * within it, for as long as the method runs, so methods may take longer. @default 10000
   */
  readonly leaseMs?: number;
  /** The clock of the leases, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** Answers that say nothing about the call; the next one with its key runs again. */
const passing: readonly number[] = [
  ErrorCode.InternalError,
  ErrorCode.RequestTimeout,
  ErrorCode.ServerBusy,
  ErrorCode.ShuttingDown,
  ErrorCode.RequestCancelled,
];

const longestLeaseMs = 24 * 3_600_000;

/**
 * Runs a call once per key, whichever worker gets it: a repetition gets the first answer, and one
 * that comes while the first still runs waits for it. How long answers are kept is the `ttl` of the
 * bucket: `idempotency(await new Kvm(connection).create("answers", { ttl: 86_400_000 }))`.
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
    throw new TypeError(`leaseMs is a number of milliseconds, at most a day, not ${leaseMs}`);
  }
  const ledger: Ledger = { bucket, outage: new Outage(bucket), leaseMs, clock };
  return (next) => (request, context) => {
    const given = request.id === undefined ? undefined : key(request, context);
    if (given === undefined) return next(request, context);
    return once(ledger, given, next, request, context);
  };
}

function keyHeader(_request: Request, { transport }: Context): string | undefined {
  const value = transport.headers["idempotency-key"];
  // To run without a key what came with two would be the worst of all answers.
  if (typeof value === "object") {
    const details = "the idempotency key is given more than once";
    throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", { details });
  }
  return value === "" ? undefined : value;
}

async function once(
  ledger: Ledger,
  given: string,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  // Callers do not share keys.
  const name = keyName(JSON.stringify([context.principal?.id ?? null, given]));
  const of = keyName(JSON.stringify([request.method, request.params ?? null]));
  const note: Note = { of, by: randomUUID() };
  const settled = await new Claim(ledger, { name, note }, context).settle();
  if (typeof settled !== "number") return replyOf(settled);
  const lease = new Lease(ledger, { name, note, revision: settled }, context);
  return finish(lease, next, request, context);
}

/** Runs the call and leaves its answer under the key. */
async function finish(
  lease: Lease,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  let reply: Reply | undefined;
  try {
    reply = await next(request, context);
  } catch (error) {
    await lease.release();
    throw error;
  }
  const isStream = context instanceof CallContext && context.isStream;
  // A stream ends well also where its reader left.
  const isCut = isStream && context.signal.aborted;
  const kept =
    reply === undefined || isCut || passing.includes(reply.error?.code ?? 0)
      ? undefined
      : keptText(reply.result, reply.error ?? (isStream ? withoutItems : undefined));
  await (kept === undefined ? lease.release() : lease.answer(kept));
  return reply;
}

/** An answer as it is kept; undefined where its caller is told of an internal error, because the result is no JSON. */
function keptText(result: unknown, error: ErrorObject | undefined): string | undefined {
  try {
    return error === undefined
      ? `{"result":${returnedText(result)}}`
      : `{"error":${errorObjectText(error)}}`;
  } catch {
    return undefined;
  }
}

/** Kept in place of the answer of a stream, which would look whole without its items. */
const withoutItems: ErrorObject = invalidRequest(
  "the call has run, and the items of a stream are not kept for its key",
);

function replyOf({ result, error }: NonNullable<Note["reply"]>): Reply {
  return error === undefined ? success(result) : failure(error);
}
