import { RpcError, serverBusy } from "../protocol/errors.ts";
import type { StreamResponse } from "./model.ts";

/** An event with the version of the task that it leads to. */
export interface VersionedEvent {
  readonly event: StreamResponse;
  readonly version: number;
}

/** Most events that wait for a subscriber; one that does not read must not fill memory. */
const maxWaiting = 1_000;

/** The events of one task for one subscriber, in order. It leaves at once, also while it waits for the next. */
export class Subscription implements AsyncIterableIterator<StreamResponse> {
  #waiting: VersionedEvent[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;
  /** Thrown after the events that wait. */
  #failure: { readonly error: unknown } | undefined;
  readonly #left: () => void;

  constructor(left: () => void) {
    this.#left = left;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Puts the task itself first, and drops the events that led to it. */
  startFrom(first: VersionedEvent): this {
    this.#waiting = [first, ...this.#waiting.filter(({ version }) => version > first.version)];
    return this;
  }

  push(event: VersionedEvent): void {
    if (this.#isOver) return;
    if (this.#waiting.length >= maxWaiting) {
      this.#waiting = [];
      this.fail(new RpcError(serverBusy.code, "the subscriber reads too slowly; subscribe again"));
      return;
    }
    this.#waiting.push(event);
    this.#wake?.();
  }

  /** No more events follow those that wait. */
  end(): void {
    this.#isOver = true;
    this.#left();
    this.#wake?.();
  }

  /** Ends with an error, after the events that wait. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  async next(): Promise<IteratorResult<StreamResponse>> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) return { done: false, value: next.event };
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isOver) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<StreamResponse>> {
    this.#waiting = [];
    this.end();
    return { done: true, value: undefined };
  }
}

/** The subscribers of the tasks that change in this process. */
export class Subscriptions {
  readonly #byTask = new Map<string, Set<Subscription>>();

  add(taskId: string): Subscription {
    const subscription = new Subscription(() => {
      const others = this.#byTask.get(taskId);
      others?.delete(subscription);
      if (others?.size === 0) this.#byTask.delete(taskId);
    });
    const others = this.#byTask.get(taskId) ?? new Set();
    this.#byTask.set(taskId, others.add(subscription));
    return subscription;
  }

  publish(taskId: string, event: VersionedEvent): void {
    for (const subscription of this.#byTask.get(taskId) ?? []) subscription.push(event);
  }

  /** Ends all subscriptions of a task. */
  end(taskId: string): void {
    for (const subscription of [...(this.#byTask.get(taskId) ?? [])]) subscription.end();
  }

  /** Ends all subscriptions, when the agent shuts down. */
  endAll(): void {
    for (const taskId of [...this.#byTask.keys()]) this.end(taskId);
  }
}
