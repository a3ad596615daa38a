import { heapBytes } from "../protocol/memory-bounds.ts";
import type { WorkChange } from "../work/live-work.ts";
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

/** A webhook of a task. */
export interface TaskPush {
  readonly config: PushConfig;
  /** Its client speaks 0.3. */
  readonly isLegacy: boolean;
}

/** A task with what its clients do not see. */
export interface TaskBody {
  readonly task: Task;
  readonly push: readonly TaskPush[];
}

export type TaskRecord = WorkRecord<TaskBody>;

/** At most how much memory a value takes; throws if it cannot be JSON. */
export function bytesOf(value: object): number {
  return heapBytes(JSON.stringify(value));
}

/** The record of a new task; `bytes` is what it keeps of its client. */
export function firstRecord(task: Task, owner: string, bytes: number, now: number): TaskRecord {
  return {
    id: task.id,
    owner,
    group: task.contextId,
    state: task.status.state,
    phase: phaseOf(task.status.state),
    version: 1,
    changedAt: now,
    bytes,
    body: { task, push: [] },
  };
}

/** The record after its task has changed; `bytes` is the memory that this adds. */
export function withTask(before: TaskRecord, task: Task, bytes: number, now: number): TaskRecord {
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
    bytes: before.bytes + bytes,
    body: { task, push: body.push },
  };
}

/** A change by these events; the first is made from the task as it was before. */
export function changeBy(
  before: TaskRecord,
  events: readonly StreamResponse[],
  now: number,
): WorkChange<TaskBody, StreamResponse> {
  let { task } = before.body;
  let bytes = 0;
  for (const event of events) {
    task = changed(task, event);
    // A status replaces the one before; its message goes into the history too.
    const more = "statusUpdate" in event ? event.statusUpdate.status.message : event;
    if (more !== undefined) bytes += bytesOf(more);
  }
  return { record: withTask(before, task, bytes, now), events };
}

/** The record with other webhooks, which clients may make as large as their messages. */
export function withPush(before: TaskRecord, push: readonly TaskPush[]): TaskRecord {
  const bytes = before.bytes + bytesOf(push) - bytesOf(before.body.push);
  return { ...before, bytes, body: { ...before.body, push } };
}

function phaseOf(state: TaskState): WorkPhase {
  return isTerminal(state) ? "over" : isInterrupted(state) ? "waiting" : "active";
}
