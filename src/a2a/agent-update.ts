import { isoTime } from "../protocol/iso-time.ts";
import type {
  Artifact,
  Message,
  Metadata,
  Part,
  StreamResponse,
  Task,
  TaskState,
} from "./model.ts";
import { checkMessage } from "./params-check.ts";

/** What an agent says: text, one part, or several. */
export type Content = string | Part | readonly Part[];

/** States that an agent can put its task into. */
export type AgentState =
  | "working"
  | "completed"
  | "failed"
  | "rejected"
  | "input-required"
  | "auth-required";

/**
 * One step of an agent: a string or a part is the next piece of its answer; `state` changes the state of the task;
 * `artifact` is a result with a name or several parts; `message` is the whole answer, without a task, if it comes first.
 */
export type AgentUpdate =
  | string
  | Part
  | { readonly state: AgentState; readonly message?: Content; readonly metadata?: Metadata }
  | {
      readonly artifact: Partial<Omit<Artifact, "parts">> & { readonly parts: Content };
      /** Whether the parts follow those that the artifact has. @default false */
      readonly append?: boolean;
      readonly lastChunk?: boolean;
      readonly metadata?: Metadata;
    }
  | { readonly message: Content; readonly metadata?: Metadata };

const states: Readonly<Record<AgentState, TaskState>> = {
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  rejected: "TASK_STATE_REJECTED",
  "input-required": "TASK_STATE_INPUT_REQUIRED",
  "auth-required": "TASK_STATE_AUTH_REQUIRED",
};

/** The artifact that strings and parts of an agent go to. */
const answerId = "answer";

export function partsOf(content: Content): readonly Part[] {
  if (typeof content === "string") return [{ text: content }];
  return Array.isArray(content) ? content : [content as Part];
}

/** A message of the agent. */
export function agentMessage(
  content: Content,
  { id, contextId }: { readonly id?: string; readonly contextId: string },
  metadata?: Metadata,
): Message {
  const message: Message = {
    messageId: crypto.randomUUID(),
    role: "ROLE_AGENT",
    parts: partsOf(content),
    contextId,
    ...(id !== undefined && { taskId: id }),
    ...(metadata !== undefined && { metadata }),
  };
  checkMessage(message);
  return message;
}

/** The event of a change of state. */
export function statusEvent(
  { id: taskId, contextId }: Pick<Task, "id" | "contextId">,
  state: TaskState,
  now: number,
  message?: Message,
  metadata?: Metadata,
): StreamResponse {
  const timestamp = isoTime(now);
  const status = message === undefined ? { state, timestamp } : { state, message, timestamp };
  return { statusUpdate: { taskId, contextId, status, ...(metadata && { metadata }) } };
}

/** The direct answer, if an update is one; all other updates belong to a task. */
export function directAnswer(
  update: AgentUpdate,
): { content: Content; metadata?: Metadata } | undefined {
  if (typeof update === "string" || "state" in update || !("message" in update)) return undefined;
  const { message, metadata } = update;
  return metadata === undefined ? { content: message } : { content: message, metadata };
}

/** What an update of the agent does to its task; throws if it is not one of its forms. */
export function eventOf(update: AgentUpdate, task: Task, now: number): StreamResponse {
  const { id: taskId, contextId } = task;
  if (typeof update === "object" && update !== null) {
    if ("state" in update) {
      const state = states[update.state];
      if (state === undefined) throw new TypeError(`an agent cannot set the state ${update.state}`);
      const message = update.message === undefined ? undefined : agentMessage(update.message, task);
      return statusEvent(task, state, now, message, update.metadata);
    }
    if ("artifact" in update) {
      const { artifact, ...rest } = update;
      const { artifactId = crypto.randomUUID() } = artifact;
      const whole = { ...artifact, artifactId, parts: partsOf(artifact.parts) };
      return { artifactUpdate: { taskId, contextId, artifact: whole, ...rest } };
    }
    const direct = directAnswer(update);
    // After the task has begun, an answer is a message on its status.
    if (direct !== undefined)
      return statusEvent(
        task,
        task.status.state,
        now,
        agentMessage(direct.content, task, direct.metadata),
      );
  } else if (typeof update !== "string") {
    throw new TypeError(`an agent must yield a string or an object, not ${typeof update}`);
  }
  const hasAnswer = task.artifacts?.some(({ artifactId }) => artifactId === answerId) === true;
  const artifact = { artifactId: answerId, parts: partsOf(update as string | Part) };
  return { artifactUpdate: { taskId, contextId, artifact, ...(hasAnswer && { append: true }) } };
}
