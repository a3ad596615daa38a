import { RpcError } from "../protocol/errors.ts";
import { serverBusy } from "../protocol/standard-errors.ts";
import type { WorkTable } from "../work/work-table.ts";
import type { StreamResponse } from "./model.ts";
import { changesBetween } from "./task-change.ts";
import type { TaskBody, TaskRecord } from "./task-record.ts";

/** Most events that wait for a subscriber; one that does not read must not fill memory. */
const maxWaiting = 1_000;

/** The events of one task for one subscriber, in order. A subscriber can leave at any time, even while it waits for an event. */
export class Subscription implements AsyncIterableIterator<StreamResponse> {
  #waiting: StreamResponse[] = [];
  /** The task after the events so far. */
  #last: TaskRecord | undefined;
  /** Changes that came before the task itself was read. */
  #early: (readonly [TaskRecord, readonly StreamResponse[] | undefined])[] | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  /** Thrown after the events that wait. */
  #failure: { readonly error: unknown } | undefined;
  readonly #leave: () => void;

  /** `early` says that it begins with the task, which is still to be read. */
  constructor(tasks: WorkTable<TaskBody, StreamResponse>, id: string, early: boolean) {
    if (early) this.#early = [];
    this.#leave = tasks.follow(id, undefined, (record, events) => {
      if (record === undefined) this.end();
      else if (this.#early === undefined) this.#take(record, events);
      else this.#early.push([record, events]);
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Begins with the task as it is, and drops the changes that led to it. */
  startFrom(record: TaskRecord): this {
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#last = record;
    this.push([{ task: record.body.task }]);
    for (const [later, events] of early) this.#take(later, events);
    return this;
  }

  push(events: readonly StreamResponse[]): void {
    if (this.#isOver) return;
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
    this.#leave();
    this.#wake?.();
  }

  /** Ends with an error, after the events that wait. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  next(): Promise<IteratorResult<StreamResponse>> {
    const next = this.#waiting.shift();
    if (next !== undefined) return Promise.resolve({ done: false, value: next });
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
    }).then(() => this.next());
  }

  async return(): Promise<IteratorResult<StreamResponse>> {
    this.#waiting = [];
    this.end();
    return { done: true, value: undefined };
  }

  /** Adds what has happened, by its events or as the difference; ends when the agent stops working. */
  #take(record: TaskRecord, known: readonly StreamResponse[] | undefined): void {
    const last = this.#last;
    if (last !== undefined && record.version <= last.version) return;
    this.#last = record;
    const events = eventsAfter(last, record, known);
    this.push(events);
    if (events.length > 0 && record.phase !== "active") this.end();
  }
}

/** The events that led to a record. A stream has the task only once, at its beginning. */
function eventsAfter(
  last: TaskRecord | undefined,
  { body }: TaskRecord,
  known: readonly StreamResponse[] | undefined,
): readonly StreamResponse[] {
  if (last === undefined) return known ?? [{ task: body.task }];
  const before = last.body.task;
  if (known === undefined) return changesBetween(before, body.task);
  // The next message of the client begins with the task again.
  return known.flatMap((event) => ("task" in event ? changesBetween(before, event.task) : [event]));
}
