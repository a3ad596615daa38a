/** The forms of A2A 0.3, which name their kinds and write states in lower case. */
import { defined } from "../protocol/record.ts";
import { invalidField } from "./errors.ts";
import type {
  Message,
  Part,
  PushConfig,
  SendParams,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from "./model.ts";

/** Whether a method is one of 0.3: only those have slashes in their names. */
export function isLegacy(method: string): boolean {
  return method.includes("/");
}

type Members = Readonly<Record<string, unknown>>;

function members(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function partFrom(value: unknown): unknown {
  const { kind, text, file, data, metadata } = members(value);
  switch (kind) {
    case "text":
      return defined({ text, metadata });
    case "data":
      return defined({ data, metadata });
    case "file": {
      const { bytes, uri, mimeType, name } = members(file);
      return defined({ raw: bytes, url: uri, mediaType: mimeType, filename: name, metadata });
    }
  }
  return value;
}

function partTo({ text, raw, url, data, mediaType, filename, metadata }: Part): Members {
  if (typeof text === "string") return defined({ kind: "text", text, metadata });
  if (data !== undefined) return defined({ kind: "data", data, metadata });
  const file = defined({ bytes: raw, uri: url, mimeType: mediaType, name: filename });
  return defined({ kind: "file", file, metadata });
}

const roles: ReadonlyMap<unknown, string> = new Map([
  ["user", "ROLE_USER"],
  ["agent", "ROLE_AGENT"],
]);

function messageFrom(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { kind: _, role, parts, ...rest } = value as Members;
  return {
    ...rest,
    role: roles.get(role) ?? role,
    parts: Array.isArray(parts) ? parts.map(partFrom) : parts,
  };
}

export function messageTo({ role, parts, ...rest }: Message): Members {
  return {
    kind: "message",
    ...rest,
    role: role === "ROLE_USER" ? "user" : "agent",
    parts: parts.map(partTo),
  };
}

/** "TASK_STATE_INPUT_REQUIRED" is "input-required". */
function stateTo(state: TaskState): string {
  return state.slice("TASK_STATE_".length).toLowerCase().replaceAll("_", "-");
}

function statusTo({ state, message, timestamp }: TaskStatus): Members {
  return defined({ state: stateTo(state), message: message && messageTo(message), timestamp });
}

export function taskTo({ status, history, artifacts, ...rest }: Task): Members {
  return defined({
    kind: "task",
    ...rest,
    status: statusTo(status),
    history: history?.map(messageTo),
    artifacts: artifacts?.map((artifact) => ({ ...artifact, parts: artifact.parts.map(partTo) })),
  });
}

/** The result of `message/send`, and each event of a stream; `isFinal` says that no more events follow a status. */
export function responseTo(
  response: StreamResponse,
  isFinal: (state: TaskState) => boolean,
): Members {
  if ("task" in response) return taskTo(response.task);
  if ("message" in response) return messageTo(response.message);
  if ("statusUpdate" in response) {
    const { status, ...rest } = response.statusUpdate;
    return {
      kind: "status-update",
      ...rest,
      status: statusTo(status),
      final: isFinal(status.state),
    };
  }
  const { artifact, ...rest } = response.artifactUpdate;
  return {
    kind: "artifact-update",
    ...rest,
    artifact: { ...artifact, parts: artifact.parts.map(partTo) },
  };
}

function pushFrom(value: unknown): Members {
  const { id, url, token, authentication } = members(value);
  if (authentication === undefined || authentication === null) return defined({ id, url, token });
  const { schemes, credentials } = members(authentication);
  const scheme = Array.isArray(schemes) ? schemes[0] : undefined;
  return defined({
    id,
    url,
    token,
    authentication: defined({ scheme: scheme ?? "Bearer", credentials }),
  });
}

export function pushTo({
  taskId,
  id,
  url,
  token,
  authentication,
}: Omit<PushConfig, "id"> & { readonly id?: string }): Members {
  const nested =
    authentication &&
    defined({
      schemes: [authentication.scheme],
      credentials: authentication.credentials,
    });
  return { taskId, pushNotificationConfig: defined({ id, url, token, authentication: nested }) };
}

function stateFrom(state: unknown): TaskState {
  // An object of a hostile agent may have no string.
  const name = typeof state === "string" ? state : "unspecified";
  return `TASK_STATE_${name.toUpperCase().replaceAll("-", "_")}` as TaskState;
}

function statusFrom(value: unknown): TaskStatus {
  const { state, message, timestamp } = members(value);
  return defined({
    state: stateFrom(state),
    message: message === undefined || message === null ? undefined : messageFrom(message),
    timestamp,
  }) as unknown as TaskStatus;
}

function artifactFrom(value: unknown): unknown {
  const { parts, ...rest } = members(value);
  return { ...rest, parts: Array.isArray(parts) ? parts.map(partFrom) : [] };
}

/** A task of an agent of 0.3. */
export function taskFrom(value: unknown): Task {
  const { kind: _, status, history, artifacts, ...rest } = members(value);
  return defined({
    ...rest,
    status: statusFrom(status),
    history: Array.isArray(history) ? history.map(messageFrom) : undefined,
    artifacts: Array.isArray(artifacts) ? artifacts.map(artifactFrom) : undefined,
  }) as unknown as Task;
}

/** A result or an event of an agent of 0.3. */
export function responseFrom(value: unknown): StreamResponse {
  const { kind, ...rest } = members(value);
  switch (kind) {
    case "task":
      return { task: taskFrom(rest) };
    case "status-update": {
      const { final: _, status, ...update } = rest;
      return { statusUpdate: { ...update, status: statusFrom(status) } as never };
    }
    case "artifact-update":
      return { artifactUpdate: { ...rest, artifact: artifactFrom(rest.artifact) } as never };
  }
  return { message: messageFrom(rest) as Message };
}

/** The params of `message/send` and `message/stream` for an agent of 0.3. */
export function sendTo({ message, configuration, metadata }: SendParams): Members {
  const {
    acceptedOutputModes,
    historyLength,
    returnImmediately,
    taskPushNotificationConfig: push,
  } = configuration ?? {};
  return defined({
    message: messageTo(message),
    metadata,
    configuration: defined({
      acceptedOutputModes,
      historyLength,
      blocking: returnImmediately !== true,
      pushNotificationConfig:
        push && members(pushTo({ ...push, taskId: "" }).pushNotificationConfig),
    }),
  });
}

/** The params of `message/send` and `message/stream` in the form of 1.0. */
export function sendFrom(params: unknown): Members {
  const { message, configuration, metadata } = members(params);
  if (configuration === undefined || configuration === null)
    return defined({ message: messageFrom(message), metadata });
  const { acceptedOutputModes, historyLength, blocking, pushNotificationConfig } =
    members(configuration);
  return defined({
    message: messageFrom(message),
    metadata,
    configuration: defined({
      acceptedOutputModes,
      historyLength,
      returnImmediately: blocking === false ? true : undefined,
      taskPushNotificationConfig:
        pushNotificationConfig === undefined || pushNotificationConfig === null
          ? undefined
          : pushFrom(pushNotificationConfig),
    }),
  });
}

/** The params of `tasks/pushNotificationConfig/set`, and its result. */
export function pushConfigFrom(params: unknown): Members {
  const { taskId, pushNotificationConfig } = members(params);
  return { taskId, ...pushFrom(pushNotificationConfig) };
}

/** The params of the other methods of push notifications: `id` is the task. */
export function pushReferenceFrom(params: unknown): Members {
  const { id, pushNotificationConfigId } = members(params);
  return defined({ taskId: id, id: pushNotificationConfigId });
}

/** 0.3 lets a client omit which of the configs it means, if there is one only. */
export function firstPush(configs: readonly PushConfig[]): PushConfig {
  const [first] = configs;
  if (first === undefined)
    throw invalidField("pushNotificationConfigId", "there is no such config");
  return first;
}
