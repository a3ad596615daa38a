/** The data model of A2A 1.0, as its JSON has it. */

/** The state of a task. */
export type TaskState =
  | "TASK_STATE_SUBMITTED"
  | "TASK_STATE_WORKING"
  | "TASK_STATE_COMPLETED"
  | "TASK_STATE_FAILED"
  | "TASK_STATE_CANCELED"
  | "TASK_STATE_INPUT_REQUIRED"
  | "TASK_STATE_REJECTED"
  | "TASK_STATE_AUTH_REQUIRED";

export type Metadata = Readonly<Record<string, unknown>>;

/** One piece of content: exactly one of `text`, `raw`, `url` and `data`. */
export interface Part {
  readonly text?: string;
  /** Bytes in base64. */
  readonly raw?: string;
  readonly url?: string;
  /** Any JSON value. */
  readonly data?: unknown;
  readonly mediaType?: string;
  readonly filename?: string;
  readonly metadata?: Metadata;
}

/** In messages of clients, empty ids count as absent, as in the JSON of Protocol Buffers. */
export interface Message {
  readonly messageId: string;
  readonly role: "ROLE_USER" | "ROLE_AGENT";
  readonly parts: readonly Part[];
  readonly contextId?: string;
  readonly taskId?: string;
  readonly metadata?: Metadata;
  /** URIs of the extensions that the message uses. */
  readonly extensions?: readonly string[];
  readonly referenceTaskIds?: readonly string[];
}

export interface TaskStatus {
  readonly state: TaskState;
  readonly message?: Message;
  /** ISO 8601, in UTC. */
  readonly timestamp?: string;
}

export interface Artifact {
  readonly artifactId: string;
  readonly parts: readonly Part[];
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: Metadata;
  readonly extensions?: readonly string[];
}

export interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly Message[];
  readonly metadata?: Metadata;
}

export interface StatusUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly status: TaskStatus;
  readonly metadata?: Metadata;
}

export interface ArtifactUpdate {
  readonly taskId: string;
  readonly contextId: string;
  readonly artifact: Artifact;
  /** Whether the parts follow those that the artifact has. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/** One event of a stream, and the body of a push notification. */
export type StreamResponse =
  | { readonly task: Task }
  | { readonly message: Message }
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate };

/** The result of `SendMessage`. */
export type SendResult = { readonly task: Task } | { readonly message: Message };

/** Where the agent sends the events of a task, besides streams. */
export interface PushConfig {
  /** The task whose events are sent. */
  readonly taskId: string;
  /** Names the config among those of the task. */
  readonly id: string;
  /** Where the events are sent. */
  readonly url: string;
  /** Sent in `X-A2A-Notification-Token`, so that the receiver recognises the sender. */
  readonly token?: string;
  /** Sent as `Authorization: <scheme> <credentials>`. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  /** The tenant of the agent that the task belongs to. */
  readonly tenant?: string;
}

export interface SendConfiguration {
  /** Media types that the client takes. @default any */
  readonly acceptedOutputModes?: readonly string[];
  /** A webhook for the events of the task. @default none */
  readonly taskPushNotificationConfig?: Omit<PushConfig, "taskId" | "id"> & {
    readonly id?: string;
  };
  /** The most messages of the history to return; 0 returns none. @default all */
  readonly historyLength?: number;
  /** Returns as soon as there is a task, not when it is done. @default false */
  readonly returnImmediately?: boolean;
}

export interface SendParams {
  readonly message: Message;
  readonly configuration?: SendConfiguration;
  readonly metadata?: Metadata;
  readonly tenant?: string;
}

export interface ListTasksParams {
  readonly contextId?: string;
  readonly status?: TaskState;
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly historyLength?: number;
  /** ISO 8601: only tasks whose status changed at this time or later. */
  readonly statusTimestampAfter?: string;
  readonly includeArtifacts?: boolean;
  readonly tenant?: string;
}

export interface ListTasksResult {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

const terminal: ReadonlySet<TaskState> = new Set([
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_REJECTED",
]);

/** Whether a task in this state never changes again. */
export function isTerminal(state: TaskState): boolean {
  return terminal.has(state);
}

/** Whether a task in this state waits for the client. */
export function isInterrupted(state: TaskState): boolean {
  return state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED";
}

/** All text of a message or an artifact; parts without text are skipped. */
export function textOf({ parts }: { readonly parts: readonly Part[] }): string {
  return parts.map(({ text = "" }) => text).join("");
}
