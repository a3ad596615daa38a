import { caught } from "../protocol/caught.ts";
import { CallContext, type Context } from "../protocol/context.ts";
import { ErrorCode, serverBusy } from "../protocol/errors.ts";
import { failure, type Id, type Reply, success } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { checkedValue } from "./result.ts";

type Items = AsyncIterable<unknown> | Iterable<unknown>;

/** After so many items without a pause, the loop lets other work run: a cancel must be heard. */
const itemsPerTurn = 128;

/** Sends what a generator yields, as fast as its reader gives credit, and replies when it is done. */
export function pump(
  start: () => Items,
  context: Context,
  itemSchema: Schema | undefined,
): Promise<Reply> | Reply {
  const { id, peer } = context;
  if (id === undefined) return success(null);
  if (!peer.canNotify) {
    return failure({
      code: ErrorCode.StreamRequired,
      message: "This method streams",
      data: 'ask with "Accept: text/event-stream", or call it over WebSocket, TCP or stdio',
    });
  }
  if (
    context instanceof CallContext &&
    streamsOf(context.origin).size >= context.origin.maxStreams
  ) {
    return failure(serverBusy);
  }
  return run(start, context, itemSchema);
}

async function run(
  start: () => Items,
  context: Context,
  itemSchema: Schema | undefined,
): Promise<Reply> {
  const { peer, signal } = context;
  const id = context.id as Id;
  const gate = new Gate(signal);
  const streams = context instanceof CallContext ? streamsOf(context.origin) : undefined;
  streams?.set(id, (count) => gate.give(count));
  let iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined;
  let finished = false;
  let sent = 0;
  const watch = context instanceof CallContext ? context.watch : undefined;
  watch?.stream(context, 1);
  try {
    const items = start();
    iterator =
      Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
    while (!signal.aborted) {
      const next = await iterator.next();
      if (next.done === true) {
        finished = true;
        return success(next.value ?? null);
      }
      const value =
        itemSchema === undefined
          ? next.value
          : checkedValue(await itemSchema["~standard"].validate(next.value), "item");
      if (!gate.open) await gate.opened();
      let full = peer.ready();
      while (full !== undefined && !signal.aborted) {
        await gate.openedOr(full);
        full = peer.ready();
      }
      if (signal.aborted) break;
      peer.notify("$/stream", { id, value });
      watch?.item(context);
      gate.take();
      if (++sent % itemsPerTurn === 0) await nextTurn();
    }
    return success(null);
  } catch (thrown) {
    return caught(thrown, context);
  } finally {
    streams?.delete(id);
    watch?.stream(context, -1);
    if (!finished) await iterator?.return?.();
  }
}

function streamsOf(origin: Origin): Map<Id, (count: number) => void> {
  origin.streams ??= new Map();
  return origin.streams;
}

/** Counts what the reader still takes. A reader that never speaks of credit takes everything. */
class Gate {
  readonly #signal: AbortSignal;
  #credit = 0;
  #limited = false;
  #waiting: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  get open(): boolean {
    return !this.#limited || this.#credit > 0 || this.#signal.aborted;
  }

  give(count: number): void {
    this.#limited = true;
    this.#credit += count;
    if (this.#credit > 0) this.#wake();
  }

  take(): void {
    // Counted from the first item, so that what went out before the first credit is not forgotten.
    this.#credit--;
  }

  opened(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Waits for the wire, but not longer than somebody reads. */
  openedOr(ready: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      void ready.then(resolve);
    });
  }

  #wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}

const immediate = (globalThis as { setImmediate?: (run: () => void) => unknown }).setImmediate;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate !== undefined) immediate(resolve);
    else setTimeout(resolve, 0);
  });
}
