import { createHash, randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../protocol/clock.ts";
import { CallContext, type Context } from "../../../protocol/context.ts";
import { ErrorCode, invalidRequest, RpcError } from "../../../protocol/errors.ts";
import type { Handle, Middleware } from "../../../protocol/handle.ts";
import type { ErrorObject, Reply, Request } from "../../../protocol/message.ts";
import { failure, success } from "../../../protocol/message.ts";
import type { KV, KvEntry } from "./client-library.ts";
import { isHeldBy, Lease, type LeaseTerms, type Note } from "./lease.ts";
import { revisionOf } from "./revision.ts";

export interface IdempotencyOptions {
  /** What a caller says to be answered once. @default the header `idempotency-key` */
  readonly key?: (request: Request, context: Context) => string | undefined;
  /**
   * After this time without a sign of its worker a call is taken over. A worker gives a sign three times
   * within it, for as long as the method runs, so methods may take longer. @default 10000
   */
  readonly leaseMs?: number;
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
/** A sign that is older than so many leases is no sign, whatever clock dated it. */
const mostLate = 6;

/**
 * Runs a call once per key, whichever worker gets it: a repetition gets the first answer, and one
 * that comes while the first still runs waits for it. How long answers are kept is the `ttl` of the
 * bucket: `idempotency(await new Kvm(connection).create("answers", { ttl: 86_400_000 }))`.
 */
export function idempotency(bucket: KV, options: IdempotencyOptions = {}): Middleware {
  const { key = keyHeader, leaseMs = 10_000, clock = systemClock } = options;
  if (!(leaseMs > 0 && leaseMs <= longestLeaseMs)) {
    throw new TypeError(`leaseMs is a number of milliseconds, at most a day, not ${leaseMs}`);
  }
  return (next) => (request, context) => {
    const given = request.id === undefined ? undefined : key(request, context);
    if (given === undefined) return next(request, context);
    return once(bucket, { leaseMs, clock }, given, next, request, context);
  };
}

function keyHeader(_request: Request, { transport }: Context): string | undefined {
  const value = transport.headers["idempotency-key"];
  return typeof value === "string" && value !== "" ? value : undefined;
}

async function once(
  bucket: KV,
  terms: LeaseTerms,
  given: string,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  // Callers do not share keys, and what they write may be no name for NATS.
  const name = digest(JSON.stringify([context.principal?.id ?? null, given]));
  const of = digest(JSON.stringify([request.method, request.params ?? null]));
  const mine: Note = { of, by: randomUUID() };
  const text = JSON.stringify(mine);
  for (;;) {
    let revision = await revisionOf(bucket.create(name, text));
    if (revision === undefined) {
      const entry = await bucket.get(name);
      if (entry === null || entry.operation !== "PUT") continue;
      const note = entry.json<Note>();
      if (note.of !== of) {
        throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", {
          details: "this idempotency key belongs to another call",
        });
      }
      if (note.reply !== undefined) return replyOf(note.reply);
      const silent = await silentSince(bucket, entry, note.by, terms, context.signal);
      if (silent === undefined) continue;
      revision = await revisionOf(bucket.update(name, text, silent));
    }
    if (revision === undefined) continue;
    const lease = new Lease(bucket, name, { note: mine, revision }, terms, context);
    return finish(lease, next, request, context);
  }
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
  if (reply === undefined || isCut || passing.includes(reply.error?.code ?? 0)) {
    await lease.release();
  } else {
    const { result = null, error = isStream ? withoutItems : undefined } = reply;
    const kept = error === undefined ? { result } : { error: plain(error) };
    await lease.answer(kept);
  }
  return reply;
}

/** Kept in place of the answer of a stream, which would look whole without its items. */
const withoutItems: ErrorObject = invalidRequest(
  "the call has run, and the items of a stream are not kept for its key",
);

/**
 * Waits for the end of a call that another runs. Where that gives no more sign, the revision at which it
 * fell silent, to take over from; otherwise undefined. Rejects when the caller is gone.
 */
async function silentSince(
  bucket: KV,
  entry: KvEntry,
  by: string,
  { leaseMs, clock }: LeaseTerms,
  signal: AbortSignal,
): Promise<number | undefined> {
  signal.throwIfAborted();
  const watch = await bucket.watch({ key: entry.key });
  const stop = (): void => watch.stop();
  let isLate = false;
  const expire = (): void => {
    isLate = true;
    stop();
  };
  // The time is counted here from when a sign is seen, so that clocks that differ take nothing over
  // early. Only one that is older by far goes by its date, for callers who never wait so long; and where NATS
  // was away, its worker still has a moment to come back.
  const waitMs = ({ created }: KvEntry): number => {
    const leftMs = created.getTime() + leaseMs * mostLate - clock.now();
    return Math.max(leaseMs / 2, Math.min(leaseMs, leftMs));
  };
  let silent: number | undefined = entry.revision;
  let timer = clock.after(waitMs(entry), expire);
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    for await (const next of watch) {
      if (next.revision === silent) continue;
      silent = isHeldBy(next, by) ? next.revision : undefined;
      if (silent === undefined) break;
      timer.cancel();
      timer = clock.after(waitMs(next), expire);
    }
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
    watch.stop();
  }
  signal.throwIfAborted();
  // A watch may also end with its connection, which says nothing of the call.
  return isLate ? silent : undefined;
}

function replyOf({ result, error }: NonNullable<Note["reply"]>): Reply {
  return error === undefined ? success(result) : failure(error);
}

function plain({ code, message, data }: ErrorObject): ErrorObject {
  return data === undefined ? { code, message } : { code, message, data };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
