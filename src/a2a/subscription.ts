import { RpcError, serverBusy } from "../protocol/errors.ts";
import type { StreamResponse, Task } from "./model.ts";

/** Most events that wait for a subscriber; one that does not read must not fill memory. */
const maxWaiting = 1_000;

/** The events of one task for one subscriber, in order. A subscriber can leave at any time, even while it waits for an event. */
export class Subscription implements AsyncIterableIterator<StreamResponse> {
  #waiting: StreamResponse[] = [];
  /** The version of the task after the events so far. */
  #version = 0;
  /** Events that came before the task itself was read. */
  #early: (readonly [version: number, event: StreamResponse])[] | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  /** Thrown after the events that wait. */
  #failure: { readonly error: unknown } | undefined;
  readonly #left: () => void;

  /** `early` says that it begins with the task, which is still to be read. */
  constructor(left: () => void, early: boolean) {
    this.#left = left;
    if (early) this.#early = [];
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Begins with the task as it is, and drops the events that led to it. */
  startFrom(version: number, task: Task): this {
    const early = this.#early ?? [];
    this.#early = undefined;
    this.push(version, { task });
    for (const [later, event] of early) this.push(later, event);
    return this;
  }

  /** Adds the events that lead to a version of the task, unless it has them already. */
  push(version: number, ...events: readonly StreamResponse[]): void {
    if (this.#early !== undefined) {
      for (const event of events) this.#early.push([version, event]);
      return;
    }
    if (this.#isOver || version <= this.#version) return;
    this.#version = version;
    this.#waiting.push(...events);
    if (this.#waiting.length > maxWaiting) {
      this.#waiting = [];
      this.fail(new RpcError(serverBusy.code, "the subscriber reads too slowly; subscribe again"));
    }
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
      if (next !== undefined) return { done: false, value: next };
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

  /** `early` says that the subscription begins with the task, which is still to be read. */
  add(taskId: string, early = false): Subscription {
    const left = (): void => {
      const others = this.#byTask.get(taskId);
      others?.delete(subscription);
      if (others?.size === 0) this.#byTask.delete(taskId);
    };
    const subscription = new Subscription(left, early);
    const others = this.#byTask.get(taskId) ?? new Set();
    this.#byTask.set(taskId, others.add(subscription));
    return subscription;
  }

  publish(taskId: string, version: number, event: StreamResponse): void {
    for (const subscription of this.#byTask.get(taskId) ?? []) subscription.push(version, event);
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
