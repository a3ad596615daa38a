import type { MaybePromise } from "../protocol/message.ts";

/**
 * What can still happen to work: a process does it (`active`), it waits for its caller and no process does it
 * (`waiting`), or it never changes again (`over`).
 */
export type WorkPhase = "active" | "waiting" | "over";

/** Long-running work as it is stored. Everything in it is JSON. */
export interface WorkRecord<B = unknown> {
  readonly id: string;
  /** The caller that it belongs to. */
  readonly owner: string;
  /** What it belongs to besides, such as a conversation; queries can filter by it. */
  readonly group: string;
  /** The state, as its protocol names it; queries can filter by it. */
  readonly state: string;
  readonly phase: WorkPhase;
  /** Counts the changes, from 1. */
  readonly version: number;
  /** When its state last changed, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Until when the process that does it is known to be alive, in milliseconds since the epoch. */
  readonly leaseUntil?: number | undefined;
  /** How long it is kept after this change. @default what the store is set to */
  readonly ttlMs?: number | undefined;
  /** About how much memory it takes. */
  readonly bytes: number;
  /** What its protocol stores. */
  readonly body: B;
}

/** The position of a record in a listing. */
export interface WorkPlace {
  readonly changedAt: number;
  readonly id: string;
}

/** Which records to list, latest change of state first. */
export interface WorkQuery {
  readonly owner: string;
  readonly group?: string | undefined;
  readonly state?: string | undefined;
  /** Only records whose state changed at this time or later, in milliseconds since the epoch. */
  readonly changedSince?: number | undefined;
  /** Only records after this position. */
  readonly after?: WorkPlace | undefined;
  readonly limit: number;
}

export interface WorkPage<B = unknown> {
  readonly records: readonly WorkRecord<B>[];
  /** How many records match, on all pages. */
  readonly total: number;
}

/** Where long-running work is stored. The table compares owners, not the store. */
export interface WorkStore {
  load(id: string): MaybePromise<WorkRecord | undefined>;
  /**
   * Writes a record whose version is one more than that of the stored one, or 1 if there is none; false if another
   * process was first. Throws if there is no room.
   */
  save(record: WorkRecord): MaybePromise<boolean>;
  list(query: WorkQuery): MaybePromise<WorkPage>;
  /** Removes a record, if there is one. */
  remove(id: string): MaybePromise<void>;
  /**
   * The records whose version is greater than the given one, by id. A store with this method is shared by several
   * processes: each shows the others that it is alive, and looks for their changes.
   */
  changed?(known: ReadonlyMap<string, number>): MaybePromise<readonly WorkRecord[]>;
}

/** The order of a listing: latest change first, and ids decide among equals. */
function comesBefore(a: WorkPlace, b: WorkPlace): boolean {
  return a.changedAt === b.changedAt ? a.id < b.id : a.changedAt > b.changedAt;
}

/** A page of these records, for stores that cannot query. */
export function pageOf(records: Iterable<WorkRecord>, query: WorkQuery): WorkPage {
  const { owner, group, state, changedSince, after, limit } = query;
  const found: WorkRecord[] = [];
  for (const record of records) {
    if (record.owner !== owner) continue;
    if (group !== undefined && record.group !== group) continue;
    if (state !== undefined && record.state !== state) continue;
    if (changedSince !== undefined && record.changedAt < changedSince) continue;
    found.push(record);
  }
  found.sort((a, b) => (comesBefore(a, b) ? -1 : 1));
  const rest = after === undefined ? found : found.filter((each) => comesBefore(after, each));
  return { records: rest.slice(0, limit), total: found.length };
}
