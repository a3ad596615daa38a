import { heapBytes } from "../protocol/memory-bounds.ts";
import type { WorkPhase, WorkRecord } from "../work/work-store.ts";
import {
  isInterrupted,
  isTerminal,
  type PushConfig,
  type StreamResponse,
  type Task,
  type TaskState,
} from "./model.ts";
import { changed } from "./task-change.ts";

/** A task with what its clients do not see. */
export interface TaskBody {
  readonly task: Task;
  readonly push: readonly PushConfig[];
}

export type TaskRecord = WorkRecord<TaskBody>;

/** At most how much memory a value takes. */
function bytesOf(value: object): number {
  return heapBytes(JSON.stringify(value));
}

/** The record of a new task. */
export function firstRecord(task: Task, owner: string, now: number): TaskRecord {
  return {
    id: task.id,
    owner,
    group: task.contextId,
    state: task.status.state,
    phase: phaseOf(task.status.state),
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
  const { id, owner, group, leaseUntil, ttlMs, body } = before;
  const isSame = task.status === body.task.status;
  const { state } = task.status;
  return {
    id,
    owner,
    group,
    leaseUntil,
    ttlMs,
    state,
    phase: phaseOf(state),
    version: before.version + 1,
    changedAt: isSame ? before.changedAt : now,
    bytes: more === undefined ? before.bytes : before.bytes + bytesOf(more),
    body: { task, push: body.push },
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

function phaseOf(state: TaskState): WorkPhase {
  return isTerminal(state) ? "over" : isInterrupted(state) ? "waiting" : "active";
}
