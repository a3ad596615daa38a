import type { Linked } from "../protocol/linked-list.ts";
import { andThen, isThenable, type MaybePromise } from "../protocol/message.ts";
import type { WorkRecord } from "./work-store.ts";

/** The next record of work, and the events that report the change, if its followers see it. */
export interface WorkChange<B, E> {
  readonly record: WorkRecord<B>;
  readonly events?: readonly E[] | undefined;
}

/** Makes a change; undefined if there is nothing to change. */
export type Amendment<B, E> = (record: WorkRecord<B>) => WorkChange<B, E> | undefined;

/** What work needs of the table that it is in. */
export interface WorkHost<B, E> {
  /** Writes a record; false if another process was first. */
  save(record: WorkRecord<B>): MaybePromise<boolean>;
  load(id: string): MaybePromise<WorkRecord<B> | undefined>;
  /** The first record is stored. */
  began(work: LiveWork<B, E>): void;
  /** A change is stored; without events, another process has made it, or its clients do not see it. */
  changed(record: WorkRecord<B>, events: readonly E[] | undefined): void;
  /** This process no longer does it. */
  ended(work: LiveWork<B, E>): void;
  /** Its function has returned; it may have continued after it was cancelled. */
  released(work: LiveWork<B, E>): void;
}

/** Notified of work that this process does. */
export interface WorkObserver<B> {
  /** Another process has changed the record. */
  refreshed?(record: WorkRecord<B>): void;
  /** This process does nothing more. */
  ended?(): void;
}

/**
 * Work that this process does. Changes are stored one after another; with a store in memory, they are stored before
 * the method returns.
 */
export class LiveWork<B, E = never> implements Linked<LiveWork<B, E>> {
  prev: LiveWork<B, E> | undefined = undefined;
  next: LiveWork<B, E> | undefined = undefined;
  /** The record that it begins or continues with. */
  readonly first: WorkRecord<B>;
  /** The owner whose share of what may run it takes; undefined if owners have no shares. */
  readonly share: string | undefined;
  /** Undefined until the first record is stored. */
  record: WorkRecord<B> | undefined = undefined;
  /** It is over, or waits for its caller: this process does nothing more. */
  isOver = false;
  observer: WorkObserver<B> = {};
  readonly #host: WorkHost<B, E>;
  #controller: AbortController | undefined = undefined;
  /** The change that is being stored, and never rejects. */
  #turn: Promise<unknown> | undefined = undefined;

  constructor(host: WorkHost<B, E>, first: WorkRecord<B>, share?: string) {
    this.#host = host;
    this.first = first;
    this.share = share;
  }

  get id(): string {
    return this.first.id;
  }

  /** Aborts when the work is cancelled. Made when it is first needed: most work does not look at it. */
  get signal(): AbortSignal {
    return this.#controlled().signal;
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  abort(reason?: Error): void {
    this.#controlled().abort(reason);
  }

  /** Stores the first record, unless it is stored. A change is stored with it at once, and reported after `event`. */
  begin(event?: E, make?: Amendment<B, E>): MaybePromise<unknown> {
    return this.#inTurn(() => {
      if (this.isOver) return;
      if (this.record !== undefined) return make && this.#attempt(make, this.record);
      const change = make?.(this.first);
      const { version } = this.first;
      const record = change === undefined ? this.first : { ...change.record, version };
      const events = event === undefined ? change?.events : [event, ...(change?.events ?? [])];
      return andThen(this.#host.save(record), (isFirst) => {
        if (!isFirst) throw new Error("the work was changed by another process");
        this.#host.began(this);
        this.#stored(record, events);
      });
    });
  }

  /** Changes the record, after the changes before; undefined if the work is over, or has not begun. */
  amend(make: Amendment<B, E>): MaybePromise<WorkRecord<B> | undefined> {
    return this.#inTurn(() =>
      this.record === undefined || this.isOver ? undefined : this.#attempt(make, this.record),
    );
  }

  /** Takes over a record that another process has stored. */
  refresh(stored: WorkRecord<B>): void {
    void this.#inTurn(() => {
      if (this.record === undefined || this.isOver || stored.version <= this.record.version) return;
      this.#take(stored);
    });
  }

  /** Ends it without a change, such as a direct answer. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#host.ended(this);
    this.observer.ended?.();
  }

  /** What did the work has returned. */
  release(): void {
    this.end();
    this.#host.released(this);
  }

  #attempt(make: Amendment<B, E>, before: WorkRecord<B>): MaybePromise<WorkRecord<B> | undefined> {
    const change = make(before);
    if (change === undefined) return before;
    const { record, events } = change;
    return andThen(this.#host.save(record), (isSaved) => {
      if (isSaved) {
        this.#stored(record, events);
        return record;
      }
      return andThen(this.#host.load(this.id), (stored) => {
        // Removed, because its time was up.
        if (stored === undefined) {
          this.end();
          this.abort();
          return undefined;
        }
        this.#take(stored);
        return this.isOver ? undefined : this.#attempt(make, stored);
      });
    });
  }

  #stored(record: WorkRecord<B>, events: readonly E[] | undefined): void {
    this.record = record;
    this.#host.changed(record, events);
    if (record.phase !== "active") this.end();
  }

  #take(stored: WorkRecord<B>): void {
    this.record = stored;
    if (stored.phase !== "active") this.end();
    this.#host.changed(stored, undefined);
    if (stored.phase === "over") this.abort();
    else this.observer.refreshed?.(stored);
  }

  #controlled(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }

  #inTurn<T>(run: () => MaybePromise<T>): MaybePromise<T> {
    const result = this.#turn === undefined ? run() : this.#turn.then(run);
    if (!isThenable(result)) return result;
    const settled = (): void => {
      if (this.#turn === turn) this.#turn = undefined;
    };
    const turn: Promise<unknown> = Promise.resolve(result).then(settled, settled);
    this.#turn = turn;
    return result;
  }
}
