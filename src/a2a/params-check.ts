import { invalidField } from "./errors.ts";
import type { ListTasksParams, Message, Part, PushConfig, SendParams, TaskState } from "./model.ts";

/** Throws an error that names the field if the value is not what A2A requires. Unknown members are ignored. */
type Check = (value: unknown, field: string) => void;

const contents = ["text", "raw", "url", "data"] as const;

const states: readonly TaskState[] = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED",
];

const text: Check = (value, field) => {
  if (typeof value !== "string") throw invalidField(field, "must be a string");
};

const name: Check = (value, field) => {
  if (typeof value !== "string" || value === "") throw invalidField(field, "must not be empty");
};

const flag: Check = (value, field) => {
  if (typeof value !== "boolean") throw invalidField(field, "must be true or false");
};

const anything: Check = () => {};

const record: Check = (value, field) => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidField(field, "must be an object");
};

function oneOf(allowed: readonly string[]): Check {
  return (value, field) => {
    if (!allowed.includes(value as string))
      throw invalidField(field, `must be one of ${allowed.join(", ")}`);
  };
}

function integer(least: number, most = Number.MAX_SAFE_INTEGER): Check {
  return (value, field) => {
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most)
      throw invalidField(field, `must be an integer from ${least} to ${most}`);
  };
}

function list(check: Check, least = 0): Check {
  return (value, field) => {
    if (!Array.isArray(value)) throw invalidField(field, "must be an array");
    if (value.length < least) throw invalidField(field, `must have at least ${least} entry`);
    for (const [i, entry] of value.entries()) check(entry, `${field}[${i}]`);
  };
}

/** An object with these members; null counts as absent, as in the JSON of Protocol Buffers. */
function shape(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  const needed = Object.entries(required);
  const allowed = Object.entries(optional);
  return (value, field) => {
    record(value, field || "params");
    const members = value as Readonly<Record<string, unknown>>;
    const path = (member: string): string => (field === "" ? member : `${field}.${member}`);
    for (const [member, check] of needed) {
      const given = Object.hasOwn(members, member) ? members[member] : undefined;
      if (given === undefined || given === null) throw invalidField(path(member), "is required");
      check(given, path(member));
    }
    for (const [member, check] of allowed) {
      const given = Object.hasOwn(members, member) ? members[member] : undefined;
      if (given !== undefined && given !== null) check(given, path(member));
    }
  };
}

const partShape = shape(
  {},
  { text, raw: text, url: text, data: anything, mediaType: text, filename: text, metadata: record },
);

const part: Check = (value, field) => {
  partShape(value, field);
  const given = contents.filter((member) => (value as Part)[member] !== undefined);
  if (given.length !== 1)
    throw invalidField(field, "must have exactly one of text, raw, url and data");
};

const message = shape(
  { messageId: name, role: oneOf(["ROLE_USER", "ROLE_AGENT"]), parts: list(part, 1) },
  {
    contextId: name,
    taskId: name,
    metadata: record,
    extensions: list(text),
    referenceTaskIds: list(text),
  },
);

const pushMembers = {
  id: name,
  token: text,
  tenant: text,
  authentication: shape({ scheme: name }, { credentials: text }),
};

const send = shape(
  { message },
  {
    tenant: text,
    metadata: record,
    configuration: shape(
      {},
      {
        acceptedOutputModes: list(text),
        taskPushNotificationConfig: shape({ url: name }, pushMembers),
        historyLength: integer(0),
        returnImmediately: flag,
      },
    ),
  },
);

const reference = shape(
  { id: name },
  { tenant: text, historyLength: integer(0), metadata: record },
);

const listing = shape(
  {},
  {
    tenant: text,
    contextId: text,
    status: oneOf([...states, "TASK_STATE_UNSPECIFIED"]),
    pageSize: integer(1, 100),
    pageToken: text,
    historyLength: integer(0),
    statusTimestampAfter: (value, field) => {
      if (typeof value !== "string" || Number.isNaN(Date.parse(value)))
        throw invalidField(field, "must be a timestamp in ISO 8601");
    },
    includeArtifacts: flag,
  },
);

/** A reference to a task. */
export interface TaskReference {
  readonly id: string;
  readonly historyLength?: number;
  readonly tenant?: string;
}

/** A reference to a push configuration. */
export interface PushReference {
  readonly taskId: string;
  readonly id: string;
  readonly tenant?: string;
}

function checked<T>(check: Check): (params: unknown) => T {
  return (params) => {
    check(params ?? {}, "");
    return (params ?? {}) as T;
  };
}

export const sendParams = checked<SendParams>(send);
export const taskReference = checked<TaskReference>(reference);
export const listTasksParams = checked<ListTasksParams>(listing);
export const pushConfig = checked<Omit<PushConfig, "id"> & { id?: string }>(
  shape({ taskId: name, url: name }, pushMembers),
);
export const pushReference = checked<PushReference>(
  shape({ taskId: name, id: name }, { tenant: text }),
);
export const pushListing = checked<{ readonly taskId: string; readonly tenant?: string }>(
  shape({ taskId: name }, { tenant: text, pageSize: integer(1, 100), pageToken: text }),
);
export const tenantOnly = checked<{ readonly tenant?: string }>(shape({}, { tenant: text }));

/** Checks a message that the agent itself made, so that a mistake in it does not reach clients. */
export function checkMessage(value: Message): void {
  try {
    message(value, "message");
  } catch (error) {
    throw new TypeError("the agent made a message that A2A does not allow", { cause: error });
  }
}
