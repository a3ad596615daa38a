import type { MaybePromise } from "../protocol/message.ts";
import type { PushConfig, Task, TaskState } from "./model.ts";

/** A task with what its clients do not see. */
export interface TaskRecord {
  readonly task: Task;
  /** Which caller it belongs to: the tenant and the principal. */
  readonly owner: string;
  /** Counts the changes, from 1. */
  readonly version: number;
  /** When its status last changed, in milliseconds since the epoch. */
  readonly changedAt: number;
  readonly push: readonly PushConfig[];
  /** Until when the process that works on it is known to be alive, in milliseconds since the epoch. */
  readonly leaseUntil?: number | undefined;
  /** About how long it is as JSON. */
  readonly characters: number;
}

/** Which tasks to list, newest status first. */
export interface TaskQuery {
  readonly owner: string;
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Only tasks whose status changed at this time or later, in milliseconds since the epoch. */
  readonly changedSince?: number | undefined;
  /** Only tasks after this one in the order of the list. */
  readonly after?: { readonly changedAt: number; readonly id: string } | undefined;
  readonly limit: number;
}

export interface TaskPage {
  readonly records: readonly TaskRecord[];
  /** How many tasks match, on all pages. */
  readonly total: number;
}

/** Where an agent keeps its tasks. Owners are compared by the agent, not by the store. */
export interface TaskStore {
  /** Whether other processes use it too: then they take turns, and notice if one of them stops. @default false */
  readonly isShared?: boolean;
  load(id: string): MaybePromise<TaskRecord | undefined>;
  /**
   * Writes a record whose version is one more than that of the stored one, or 1 if there is none; false if another
   * process was first. Throws if there is no room.
   */
  save(record: TaskRecord): MaybePromise<boolean>;
  list(query: TaskQuery): MaybePromise<TaskPage>;
}

/** The order of a list: newest status first, and ids decide among equals. */
export function comesBefore(
  a: { readonly changedAt: number; readonly id: string },
  b: { readonly changedAt: number; readonly id: string },
): boolean {
  return a.changedAt === b.changedAt ? a.id < b.id : a.changedAt > b.changedAt;
}
