import type { WorkPhase, WorkRecord } from "../work/work-store.ts";
import {
  isInterrupted,
  isTerminal,
  type PushConfig,
  type StreamResponse,
  type Task,
} from "./model.ts";
import { changed } from "./task-change.ts";

/** A task with what its clients do not see. */
export interface TaskBody {
  readonly task: Task;
  readonly push: readonly PushConfig[];
}

export type TaskRecord = WorkRecord<TaskBody>;

/** A character of JSON takes two bytes at most. */
const perCharacter = 2;

/** About how much memory a value takes. */
export function bytesOf(value: object): number {
  return JSON.stringify(value).length * perCharacter;
}

/** The record of a new task. */
export function firstRecord(task: Task, owner: string, now: number): TaskRecord {
  return {
    id: task.id,
    owner,
    group: task.contextId,
    ...stateOf(task),
    version: 1,
    changedAt: now,
    bytes: bytesOf(task),
    body: { task, push: [] },
  };
}

/** The record after its task has changed; `more` is what it has in addition to before. */
export function withTask(
  before: TaskRecord,
  task: Task,
  more: object | undefined,
  now: number,
): TaskRecord {
  const isSame = task.status === before.body.task.status;
  return {
    ...before,
    ...stateOf(task),
    version: before.version + 1,
    changedAt: isSame ? before.changedAt : now,
    bytes: more === undefined ? before.bytes : before.bytes + bytesOf(more),
    body: { ...before.body, task },
  };
}

/** The record after an event. */
export function recordAfter(before: TaskRecord, event: StreamResponse, now: number): TaskRecord {
  // A status replaces the one before; its message goes into the history too.
  const more = "statusUpdate" in event ? event.statusUpdate.status.message : event;
  return withTask(before, changed(before.body.task, event), more, now);
}

/** The record with other webhooks. */
export function withPush(before: TaskRecord, push: readonly PushConfig[]): TaskRecord {
  return { ...before, body: { ...before.body, push } };
}

function stateOf({ status }: Task): { readonly state: string; readonly phase: WorkPhase } {
  const { state } = status;
  const phase = isTerminal(state) ? "over" : isInterrupted(state) ? "waiting" : "active";
  return { state, phase };
}
