import type { Context } from "../protocol/context.ts";
import { ErrorCode, RpcError } from "../protocol/errors.ts";
import type { CallFailure } from "../protocol/failure-data.ts";
import { limitOf } from "../protocol/limits.ts";

export interface TopicOptions {
  /** Most items that wait for one subscriber; stops a slow one from filling memory. @default 1000 */
  readonly maxQueue?: number;
  /** What happens to a subscriber with a full queue. @default "end" */
  readonly onFull?: "end" | "drop-oldest";
}

/** One publisher, any number of subscribers; each reads at its own pace from a bounded queue. */
export class Topic<Item> {
  readonly #subscribers = new Set<Subscriber<Item>>();
  readonly #maxQueue: number;
  readonly #onFull: "end" | "drop-oldest";
  #closed = false;

  constructor(options: TopicOptions = {}) {
    this.#maxQueue = limitOf("maxQueue", options.maxQueue, 1000);
    this.#onFull = options.onFull ?? "end";
  }

  /** Number of subscribers. */
  get size(): number {
    return this.#subscribers.size;
  }

  /** Number of queued items of all subscribers. */
  get waiting(): number {
    let sum = 0;
    for (const subscriber of this.#subscribers) sum += subscriber.waiting;
    return sum;
  }

  publish(item: Item): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.waiting < this.#maxQueue) subscriber.push(item);
      else if (this.#onFull === "drop-oldest") subscriber.replaceOldest(item);
      else {
        const data: CallFailure = { ran: true, reason: "busy" };
        this.#end(subscriber, new RpcError(ErrorCode.ServerBusy, "Subscriber too slow", data));
      }
    }
  }

  /** Returns the items published from now on, until the call or the topic ends; for stream handlers. */
  subscribe(call: Pick<Context, "signal" | "incoming">): AsyncIterable<Item> {
    const subscriber = new Subscriber<Item>();
    call.incoming?.subscribe();
    if (this.#closed || call.signal.aborted) subscriber.end();
    else {
      // Subscribes now, not at the first read, so that nothing published in between is lost.
      this.#subscribers.add(subscriber);
      call.signal.addEventListener("abort", () => this.#end(subscriber), { once: true });
    }
    return this.#read(subscriber);
  }

  /** Ends every subscription after what is queued. */
  close(): void {
    this.#closed = true;
    for (const subscriber of this.#subscribers) this.#end(subscriber);
  }

  /** Removed at once: a subscriber that has not begun to read may never do so. */
  #end(subscriber: Subscriber<Item>, error?: Error): void {
    this.#subscribers.delete(subscriber);
    subscriber.end(error);
  }

  async *#read(subscriber: Subscriber<Item>): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        if (subscriber.waiting > 0) yield subscriber.take();
        else if (subscriber.ended) break;
        else await subscriber.change();
      }
      if (subscriber.error !== undefined) throw subscriber.error;
    } finally {
      this.#subscribers.delete(subscriber);
    }
  }
}

class Subscriber<Item> {
  error: Error | undefined = undefined;
  ended = false;
  readonly #items: Item[] = [];
  #wake: (() => void) | undefined;

  get waiting(): number {
    return this.#items.length;
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#wake?.();
  }

  replaceOldest(item: Item): void {
    this.#items.shift();
    this.push(item);
  }

  take(): Item {
    return this.#items.shift() as Item;
  }

  end(error?: Error): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    this.#wake?.();
  }

  change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * Creates a topic: `prices: stream({…}, (_, call) => prices.subscribe(call))` and `prices.publish(…)`.
 * @example
 * ```ts
 * import { createServer, stream, topic } from "callwire";
 *
 * const prices = topic<{ symbol: string; price: number }>({ maxQueue: 100 });
 * const market = createServer({
 *   prices: stream({}, (_params, call) => prices.subscribe(call)),
 * });
 * prices.publish({ symbol: "ACME", price: 42 });
 * ```
 */
export function topic<Item>(options?: TopicOptions): Topic<Item> {
  return new Topic(options);
}
