import { isoTime } from "../protocol/iso-time.ts";
import { heapBytes } from "../protocol/memory-bounds.ts";
import type { ErrorObject } from "../protocol/message.ts";
import type { WorkRecord } from "../work/work-store.ts";
import type { InputRequest } from "./client-input.ts";
import { isOver, type LegacyTask, type Task, type TaskStatus } from "./task.ts";

/** The polling interval that peers are asked to use, in milliseconds. */
const pollMs = 500;

/** A task as it is stored. */
export interface TaskBody {
  readonly ttlMs: number;
  /** In milliseconds since the epoch. */
  readonly createdAt: number;
  /** The result that the request would have had. */
  readonly result?: object;
  /** The error that the request would have had. */
  readonly error?: ErrorObject;
  /** Questions to the client, by their keys. */
  readonly questions?: Readonly<Record<string, InputRequest>>;
  /** Answers that reached another process than the one that asked. */
  readonly answers?: Readonly<Record<string, TaskAnswer>>;
}

/** What a client answered to a question, or the error that it refused with. */
export type TaskAnswer = { readonly value: unknown } | { readonly error: ErrorObject };

export type TaskRecord = WorkRecord<TaskBody>;

/** The record of a new task, which is kept for `ttlMs`; `args` is what it was called with. */
export function firstRecord(
  owner: string,
  ttlMs: number,
  args: object | undefined,
  now: number,
): TaskRecord {
  return {
    id: crypto.randomUUID(),
    owner,
    group: "",
    state: "working",
    phase: "active",
    version: 1,
    changedAt: now,
    ttlMs,
    bytes: bytesOf(args),
    body: { ttlMs, createdAt: now },
  };
}

/** The record with another status; a time to live counts from the beginning. */
export function withStatus(
  before: TaskRecord,
  status: TaskStatus,
  more: Partial<TaskBody>,
  now: number,
): TaskRecord {
  const { ttlMs, createdAt } = before.body;
  const over = isOver(status);
  return {
    ...before,
    state: status,
    phase: over ? "over" : "active",
    version: before.version + 1,
    changedAt: now,
    ttlMs: Math.max(1, createdAt + ttlMs - now),
    bytes: over ? bytesOf(more.result ?? more.error) : before.bytes,
    body: over ? { ttlMs, createdAt, ...more } : { ...before.body, ...more },
  };
}

/** The task in the form of the extension. */
export function taskOf(record: TaskRecord): Task {
  return { ...stateOf(record), ttlMs: record.body.ttlMs, pollIntervalMs: pollMs };
}

/** The task in the form of 2025-11-25. */
export function legacyTaskOf(record: TaskRecord): LegacyTask {
  return { ...stateOf(record), ttl: record.body.ttlMs, pollInterval: pollMs };
}

/** The task with its result or questions, in the form of the extension. */
export function taskResultOf(record: TaskRecord): Task & Readonly<Record<string, unknown>> {
  const { state, body } = record;
  const { result, error, questions = {} } = body;
  return {
    ...taskOf(record),
    ...(state === "completed" && { result }),
    ...(error !== undefined && { error }),
    ...(state === "input_required" && { inputRequests: questions }),
  };
}

/** An error without what only this process needs. */
export function plainError({ code, message, data }: ErrorObject): ErrorObject {
  return data === undefined ? { code, message } : { code, message, data };
}

function stateOf({ id, state, changedAt, body }: TaskRecord) {
  const { createdAt, error } = body;
  return {
    taskId: id,
    status: state as TaskStatus,
    ...(error !== undefined && { statusMessage: error.message }),
    createdAt: isoTime(createdAt),
    lastUpdatedAt: isoTime(changedAt),
  };
}

function bytesOf(value: object | undefined): number {
  try {
    return value === undefined ? 0 : heapBytes(JSON.stringify(value));
  } catch {
    // A result that cannot be written is never sent either.
    return 0;
  }
}
