import { createHash } from "node:crypto";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode, RpcError } from "../../../protocol/errors.ts";
import type { Handle, Middleware } from "../../../protocol/handle.ts";
import type { ErrorObject, Reply, Request } from "../../../protocol/message.ts";
import { failure, success } from "../../../protocol/message.ts";
import type { KV, KvEntry } from "./client-library.ts";
import { isTaken } from "./taken.ts";

export interface IdempotencyOptions {
  /** What a caller says to be answered once. @default the header `idempotency-key` */
  readonly key?: (request: Request, context: Context) => string | undefined;
  /**
   * After this time a call that never ended is taken over: its worker is gone. Where the server's `timeoutMs`
   * is longer, this must be too, or a call that still runs is run a second time. @default 60000
   */
  readonly leaseMs?: number;
}

/** What stands under a key: a call that runs, or the answer it ended with. */
interface Note {
  readonly of: string;
  readonly reply?: { readonly result?: unknown; readonly error?: ErrorObject };
}

/** Answers that say nothing about the call; the next one with its key runs again. */
const passing: readonly number[] = [
  ErrorCode.InternalError,
  ErrorCode.RequestTimeout,
  ErrorCode.ServerBusy,
  ErrorCode.ShuttingDown,
  ErrorCode.RequestCancelled,
];

/**
 * Runs a call once per key, whichever worker gets it: a repetition gets the first answer, and one
 * that comes while the first still runs waits for it. How long answers are kept is the `ttl` of the
 * bucket: `idempotency(await new Kvm(connection).create("answers", { ttl: 86_400_000 }))`.
 */
export function idempotency(bucket: KV, options: IdempotencyOptions = {}): Middleware {
  const { key = keyHeader, leaseMs = 60_000 } = options;
  return (next) => (request, context) => {
    const given = request.id === undefined ? undefined : key(request, context);
    if (given === undefined) return next(request, context);
    return once(bucket, leaseMs, given, next, request, context);
  };
}

function keyHeader(_request: Request, { transport }: Context): string | undefined {
  const value = transport.headers["idempotency-key"];
  return typeof value === "string" && value !== "" ? value : undefined;
}

async function once(
  bucket: KV,
  leaseMs: number,
  given: string,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  // Callers do not share keys, and what they write may be no name for NATS.
  const name = digest(JSON.stringify([context.principal?.id ?? null, given]));
  const of = digest(JSON.stringify([request.method, request.params ?? null]));
  const running = JSON.stringify({ of } satisfies Note);
  for (;;) {
    if (await isTaken(bucket.create(name, running))) {
      return finish(bucket, name, of, next, request, context);
    }
    const entry = await bucket.get(name);
    if (entry === null || entry.operation !== "PUT") continue;
    const note = entry.json<Note>();
    if (note.of !== of) {
      throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", {
        details: "this idempotency key belongs to another call",
      });
    }
    if (note.reply !== undefined) return replyOf(note.reply);
    const leftMs = entry.created.getTime() + leaseMs - Date.now();
    if (leftMs > 0) await change(bucket, entry, leftMs, context);
    else if (await isTaken(bucket.update(name, running, entry.revision))) {
      return finish(bucket, name, of, next, request, context);
    }
  }
}

/** Runs the call and leaves its answer under the key. */
async function finish(
  bucket: KV,
  name: string,
  of: string,
  next: Handle,
  request: Request,
  context: Context,
): Promise<Reply | undefined> {
  let reply: Reply | undefined;
  try {
    reply = await next(request, context);
  } catch (error) {
    await noted(bucket.delete(name), context);
    throw error;
  }
  if (reply === undefined || passing.includes(reply.error?.code ?? 0)) {
    await noted(bucket.delete(name), context);
  } else {
    const { result = null, error } = reply;
    const kept = error === undefined ? { result } : { error: plain(error) };
    await noted(bucket.put(name, JSON.stringify({ of, reply: kept } satisfies Note)), context);
  }
  return reply;
}

/** What was done is done: a caller that is told otherwise would do it again. */
async function noted(writing: Promise<unknown>, { log, method }: Context): Promise<void> {
  try {
    await writing;
  } catch (error) {
    log.error({ method, err: error }, "how a call ended could not be kept for its key");
  }
}

/** Waits until what stands under the key is no longer this, or may be taken over, or the caller is gone. */
async function change(bucket: KV, entry: KvEntry, leftMs: number, context: Context): Promise<void> {
  const watch = await bucket.watch({ key: entry.key });
  const stop = (): void => watch.stop();
  const timer = setTimeout(stop, leftMs);
  context.signal.addEventListener("abort", stop, { once: true });
  try {
    if (!context.signal.aborted) {
      for await (const { revision } of watch) if (revision !== entry.revision) break;
    }
  } finally {
    clearTimeout(timer);
    context.signal.removeEventListener("abort", stop);
    watch.stop();
  }
  context.signal.throwIfAborted();
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
