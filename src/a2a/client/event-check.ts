import { badReply } from "../../protocol/pair.ts";
import { isRecord } from "../../protocol/record.ts";
import type { SendResult, StreamResponse, Task } from "../model.ts";

/** The event, if it has what a client relies on. Absent and null members count as empty, as in the JSON of Protocol Buffers. */
export function checkedEvent(event: unknown): StreamResponse {
  if (isRecord(event)) {
    const { task, message, statusUpdate, artifactUpdate } = event;
    const isKnown =
      isTask(task) ||
      isRecord(message) ||
      hasStatus(statusUpdate) ||
      (isRecord(artifactUpdate) && isArtifact(artifactUpdate.artifact));
    if (isKnown) return event as unknown as StreamResponse;
  }
  throw badReply("the agent sent neither a task, nor a message, nor an update of a task");
}

/** The same for the result of a message. */
export function checkedResult(result: unknown): SendResult {
  return checkedEvent(result) as SendResult;
}

export function checkedTask(task: unknown): Task {
  if (isTask(task)) return task as unknown as Task;
  throw badReply("the agent did not send a task with an id and a status");
}

function isTask(task: unknown): boolean {
  if (!isRecord(task) || typeof task.id !== "string" || !hasStatus(task)) return false;
  return isList(task.artifacts, isArtifact) && isList(task.history, isRecord);
}

function hasStatus(update: unknown): boolean {
  return isRecord(update) && isRecord(update.status) && typeof update.status.state === "string";
}

function isArtifact(artifact: unknown): boolean {
  return isRecord(artifact) && isList(artifact.parts, isRecord);
}

function isList(list: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return list === undefined || list === null || (Array.isArray(list) && list.every(isEntry));
}
