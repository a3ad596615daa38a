import type { ErrorObject } from "../protocol/message.ts";
import type { InputRequest } from "./client-input.ts";
import type { Result } from "./results.ts";

export const taskStatuses = [
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
] as const;

export type TaskStatus = (typeof taskStatuses)[number];

interface TaskState {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
}

/** A task of 2025-11-25. */
export interface LegacyTask extends TaskState {
  /** How long the task is kept, in milliseconds. */
  readonly ttl: number | null;
  readonly pollInterval?: number;
}

/** A task of the extension. */
export interface Task extends TaskState {
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
}

/** The result of `tools/call` if the tool runs as a task. */
export interface CreateTaskResult extends Result, Task {
  readonly resultType: "task";
}

/** The result of `tasks/get`. */
export interface TaskResult extends Result, Task {
  readonly result?: unknown;
  readonly error?: ErrorObject;
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
}

export function isOver(status: TaskStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
