import { BriefMap } from "../protocol/brief-map.ts";
import type { Clock, Timer } from "../protocol/clock.ts";
import { LinkedList } from "../protocol/linked-list.ts";
import type { Log } from "../protocol/log.ts";
import { andThen, type MaybePromise } from "../protocol/message.ts";
import { type Amendment, LiveWork, type WorkChange, type WorkHost } from "./live-work.ts";
import { workRefused } from "./refusal.ts";
import type { WorkPage, WorkQuery, WorkRecord, WorkStore } from "./work-store.ts";

/** How long a process may be silent before the work that it does counts as abandoned. */
const leaseMs = 30_000;
/** How often a shared store is asked for the changes of other processes. */
const pollMs = 250;
/** How often followed work is read again, in case its process has stopped or it has expired. */
const checkMs = leaseMs / 3;
/** Most attempts to store a change while other processes change the same record. */
const maxAttempts = 10;

export interface WorkTableSettings<B, E> {
  readonly store: WorkStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Most work that this process does at a time; half of it for one owner. */
  readonly maxRunning: number;
  /** Most memory that the work of this process was begun with, including what was cancelled but still runs. @default unlimited */
  readonly maxRunningBytes?: number;
  /** Called with the events of each change that this process has stored. */
  published?(record: WorkRecord<B>, events: readonly E[]): void;
  /** Ends work whose process has stopped. */
  abandoned(record: WorkRecord<B>): WorkChange<B, E>;
}

/** Gets each change: with its events if this process has made it, undefined if the record is gone. */
export type WorkFollower<B, E> = (
  record: WorkRecord<B> | undefined,
  events: readonly E[] | undefined,
) => void;

interface Followed<B, E> {
  record: WorkRecord<B> | undefined;
  readonly followers: Set<WorkFollower<B, E>>;
  /** When to read it again, by the clock's `elapsed`. */
  checkAt: number;
}

/** The work of one service: begins, finds, changes and follows it, in any process of a fleet. */
export class WorkTable<B, E = never> implements WorkHost<B, E> {
  readonly #settings: WorkTableSettings<B, E>;
  /** Work that this process does, by id. */
  readonly #live = new BriefMap<string, LiveWork<B, E>>();
  /** Work whose function has not returned; also if it was cancelled. */
  readonly #running = new LinkedList<LiveWork<B, E>>();
  readonly #followed = new BriefMap<string, Followed<B, E>>();
  #runningBytes = 0;
  #renewal: Timer | undefined;
  #poll: Timer | undefined;
  #isClosed = false;

  constructor(settings: WorkTableSettings<B, E>) {
    this.#settings = settings;
  }

  /**
   * Work with this first record, which `begin` stores. `share` names the owner for a fair share of what may run; without
   * one, all may be taken. Throws if there is no room.
   */
  admit(first: WorkRecord<B>, share?: string): LiveWork<B, E> {
    const { maxRunningBytes = Number.POSITIVE_INFINITY } = this.#settings;
    if (!this.#mayRun(share) || this.#runningBytes + first.bytes > maxRunningBytes)
      throw workRefused();
    const work = new LiveWork<B, E>(this, first, share);
    this.#running.add(work);
    this.#runningBytes += first.bytes;
    return work;
  }

  /** The work that this process does. */
  live(id: string): LiveWork<B, E> | undefined {
    return this.#live.get(id);
  }

  /** Undefined if there is none, or it belongs to another owner. Work whose process has stopped is ended. */
  find(id: string, owner: string): MaybePromise<WorkRecord<B> | undefined> {
    return andThen(this.#current(id), (record) =>
      record === undefined || record.owner !== owner ? undefined : record,
    );
  }

  list(query: WorkQuery): MaybePromise<WorkPage<B>> {
    return this.#settings.store.list(query) as MaybePromise<WorkPage<B>>;
  }

  /** Changes work of any process; undefined if there is none, or it belongs to another owner. */
  async change(
    id: string,
    owner: string,
    make: Amendment<B, E>,
  ): Promise<WorkRecord<B> | undefined> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const before = await this.find(id, owner);
      if (before === undefined) return undefined;
      const live = this.#live.get(id);
      if (live !== undefined) {
        const after = await live.amend(make);
        if (after !== undefined) return after;
        continue;
      }
      const change = make(before);
      if (change === undefined) return before;
      const { record, events } = change;
      if (!(await this.#settings.store.save(record))) continue;
      this.changed(record, events);
      return record;
    }
    throw workRefused();
  }

  /** Reports each change after the given record, until the function that it returns is called. */
  follow(id: string, from: WorkRecord<B> | undefined, follower: WorkFollower<B, E>): () => void {
    const checkAt = this.#settings.clock.elapsed() + checkMs;
    const followed = this.#followed.get(id) ?? { record: from, followers: new Set(), checkAt };
    followed.followers.add(follower);
    this.#followed.set(id, followed);
    this.#pollLater();
    return () => {
      followed.followers.delete(follower);
      if (followed.followers.size === 0 && this.#followed.get(id) === followed)
        this.#followed.take(id);
    };
  }

  remove(id: string): MaybePromise<void> {
    this.#live.get(id)?.end();
    return this.#settings.store.remove(id);
  }

  /** Ends the work of this process, and notifies followers that it has ended. */
  close(): void {
    this.#isClosed = true;
    this.#renewal?.cancel();
    this.#poll?.cancel();
    const isShared = this.#settings.store.changed !== undefined;
    for (const work of this.#running.list()) {
      if (isShared) void this.#abandon(work);
      work.abort();
    }
    for (const [, followed] of this.#followed.list()) tellGone(followed);
  }

  save(record: WorkRecord<B>): MaybePromise<boolean> {
    const { store, clock } = this.#settings;
    if (store.changed === undefined) return store.save(record);
    const leaseUntil = record.phase === "active" ? clock.now() + leaseMs : undefined;
    return store.save({ ...record, leaseUntil });
  }

  load(id: string): MaybePromise<WorkRecord<B> | undefined> {
    return this.#settings.store.load(id) as MaybePromise<WorkRecord<B> | undefined>;
  }

  began(work: LiveWork<B, E>): void {
    this.#live.set(work.id, work);
    if (this.#settings.store.changed === undefined) return;
    this.#renewal ??= this.#renewLater();
    this.#pollLater();
  }

  changed(record: WorkRecord<B>, events: readonly E[] | undefined): void {
    if (events !== undefined) this.#settings.published?.(record, events);
    const followed = this.#followed.get(record.id);
    if (followed === undefined) return;
    if (followed.record !== undefined && record.version <= followed.record.version) return;
    followed.record = record;
    for (const follower of [...followed.followers]) follower(record, events);
  }

  ended(work: LiveWork<B, E>): void {
    if (this.#live.get(work.id) === work) this.#live.take(work.id);
  }

  released(work: LiveWork<B, E>): void {
    if (this.#running.remove(work)) this.#runningBytes -= work.first.bytes;
  }

  /** An owner may run no more than there are free slots, so that others always have one. */
  #mayRun(share: string | undefined): boolean {
    const { maxRunning } = this.#settings;
    if (this.#running.size <= maxRunning / 2) return true;
    let [active, ownActive, own] = [0, 0, 0];
    for (let work = this.#running.first; work !== undefined; work = work.next) {
      const isOwn = share !== undefined && work.share === share;
      if (isOwn) own++;
      if (work.isOver) continue;
      active++;
      if (isOwn) ownActive++;
    }
    const leavesRoom = (all: number, ofOwner: number, most: number): boolean =>
      all < most && ofOwner <= most - all;
    // Functions that ignore the cancellation still run; as many of those are allowed again.
    return (
      leavesRoom(active, ownActive, maxRunning) &&
      leavesRoom(this.#running.size, own, 2 * maxRunning)
    );
  }

  /** The record as it is now. */
  #current(id: string): MaybePromise<WorkRecord<B> | undefined> {
    const live = this.#live.get(id)?.record;
    if (live !== undefined) return live;
    return andThen(this.load(id), (record) => {
      const isAbandoned =
        record?.phase === "active" &&
        record.leaseUntil !== undefined &&
        record.leaseUntil < this.#settings.clock.now() &&
        this.#live.get(id) === undefined;
      return isAbandoned ? this.#endAbandoned(record) : record;
    });
  }

  async #endAbandoned(before: WorkRecord<B>): Promise<WorkRecord<B> | undefined> {
    const { record, events } = this.#settings.abandoned(before);
    if (!(await this.save(record))) return this.load(record.id);
    this.#settings.log.warn({ work: record.id }, "ended work whose process has stopped");
    this.changed(record, events);
    return record;
  }

  /** Notifies other processes at once, rather than when the lease expires. */
  async #abandon(work: LiveWork<B, E>): Promise<void> {
    try {
      await work.amend((record) => this.#settings.abandoned(record));
    } catch (error) {
      this.#settings.log.warn({ err: error, work: work.id }, "could not store that work has ended");
    }
  }

  /** Shows other processes that this one is alive. */
  #renewLater(): Timer {
    return this.#settings.clock.after(leaseMs / 3, () => {
      for (const [, work] of this.#live.list()) void this.#renew(work);
      this.#renewal = this.#live.size === 0 ? undefined : this.#renewLater();
    });
  }

  async #renew(work: LiveWork<B, E>): Promise<void> {
    try {
      await work.amend((record) => ({ record: { ...record, version: record.version + 1 } }));
    } catch (error) {
      this.#settings.log.warn(
        { err: error, work: work.id },
        "could not renew the lease of running work",
      );
    }
  }

  /** Looks for changes of other processes, as long as there is work that they could change. */
  #pollLater(): void {
    const { store, clock, log } = this.#settings;
    if (store.changed === undefined || this.#poll !== undefined || this.#isClosed) return;
    this.#poll = clock.after(pollMs, async () => {
      try {
        await this.#lookForChanges();
      } catch (error) {
        log.warn({ err: error }, "could not read changes of work from its store");
      }
      this.#poll = undefined;
      if (this.#live.size > 0 || this.#followed.size > 0) this.#pollLater();
    });
  }

  async #lookForChanges(): Promise<void> {
    const { store, clock } = this.#settings;
    const known = new Map<string, number>();
    for (const [id, { record }] of this.#followed.list()) known.set(id, record?.version ?? 0);
    for (const [id, { record }] of this.#live.list()) known.set(id, record?.version ?? 0);
    const found = (await store.changed?.(known)) as readonly WorkRecord<B>[];
    for (const record of found) {
      const live = this.#live.get(record.id);
      if (live === undefined) this.changed(record, undefined);
      else live.refresh(record);
    }
    const now = clock.elapsed();
    for (const [id, followed] of this.#followed.list()) {
      if (followed.checkAt > now || this.#live.get(id) !== undefined) continue;
      followed.checkAt = now + checkMs;
      const record = await this.#current(id);
      if (record !== undefined) this.changed(record, undefined);
      else tellGone(followed);
    }
  }
}

function tellGone<B, E>({ followers }: Followed<B, E>): void {
  for (const follower of [...followers]) follower(undefined, undefined);
}
