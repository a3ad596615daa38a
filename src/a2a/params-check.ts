import { invalidField } from "./errors.ts";
import type { ListTasksParams, Message, Part, PushConfig, SendParams, TaskState } from "./model.ts";

/** What is wrong with a value, or with one at a path inside it. */
interface Fault {
  readonly path: string;
  readonly description: string;
}

/** Whether a value is what A2A requires. Unknown members are ignored. */
type Check = (value: unknown) => Fault | undefined;

function fault(description: string, path = ""): Fault {
  return { path, description };
}

/** The fault of a member, as one of the object or array that has it. */
function within(path: string, inner: Fault): Fault {
  const separator = inner.path === "" || inner.path.startsWith("[") ? "" : ".";
  return fault(inner.description, `${path}${separator}${inner.path}`);
}

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

const text: Check = (value) => (typeof value === "string" ? undefined : fault("must be a string"));

const name: Check = (value) =>
  typeof value === "string" && value !== "" ? undefined : fault("must not be empty");

const flag: Check = (value) =>
  typeof value === "boolean" ? undefined : fault("must be true or false");

const anything: Check = () => undefined;

const record: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? undefined
    : fault("must be an object");

function oneOf(allowed: readonly string[]): Check {
  return (value) =>
    allowed.includes(value as string) ? undefined : fault(`must be one of ${allowed.join(", ")}`);
}

function integer(least: number, most = Number.MAX_SAFE_INTEGER): Check {
  return (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : fault(`must be an integer from ${least} to ${most}`);
}

function list(check: Check, least = 0): Check {
  return (value) => {
    if (!Array.isArray(value)) return fault("must be an array");
    if (value.length < least) return fault(`must have at least ${least} entry`);
    for (let i = 0; i < value.length; i++) {
      const found = check(value[i]);
      if (found !== undefined) return within(`[${i}]`, found);
    }
    return undefined;
  };
}

/** The name of a member in the `.proto` file, which readers of its JSON accept too: `task_id`. */
function protoName(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * An object with these members, as in the JSON of Protocol Buffers: null counts as absent, and members whose names are
 * those of the `.proto` file get their names in camelCase.
 */
function shape(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  const member =
    (isRequired: boolean) =>
    ([name, check]: readonly [string, Check]) => ({
      member: name,
      proto: protoName(name),
      check,
      isRequired,
    });
  const members = [
    ...Object.entries(required).map(member(true)),
    ...Object.entries(optional).map(member(false)),
  ];
  return (value) => {
    const wrong = record(value);
    if (wrong !== undefined) return wrong;
    const given = value as Record<string, unknown>;
    for (const { member, proto, check, isRequired } of members) {
      if (!Object.hasOwn(given, member) && Object.hasOwn(given, proto)) {
        given[member] = given[proto];
        delete given[proto];
      }
      const inner = Object.hasOwn(given, member) ? given[member] : undefined;
      const isAbsent = inner === undefined || inner === null;
      if (isAbsent && isRequired) return fault("is required", member);
      const found = isAbsent ? undefined : check(inner);
      if (found !== undefined) return within(member, found);
    }
    return undefined;
  };
}

const partShape = shape(
  {},
  { text, raw: text, url: text, data: anything, mediaType: text, filename: text, metadata: record },
);

const part: Check = (value) => {
  const found = partShape(value);
  if (found !== undefined) return found;
  let given = 0;
  // Null is a value of `data`, and counts as absent elsewhere.
  for (const member of contents) if (((value as Part)[member] ?? undefined) !== undefined) given++;
  if ((value as Part).data === null) given++;
  return given === 1 ? undefined : fault("must have exactly one of text, raw, url and data");
};

const message = shape(
  { messageId: name, role: oneOf(["ROLE_USER", "ROLE_AGENT"]), parts: list(part, 1) },
  {
    contextId: text,
    taskId: text,
    metadata: record,
    extensions: list(text),
    referenceTaskIds: list(text),
  },
);

const pushMembers = {
  id: text,
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
    statusTimestampAfter: (value) =>
      typeof value === "string" && !Number.isNaN(Date.parse(value))
        ? undefined
        : fault("must be a timestamp in ISO 8601"),
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

/** Throws an error that names the field if params are not what A2A requires. */
function checked<T>(check: Check): (params: unknown) => T {
  return (params) => {
    const found = check(params ?? {});
    if (found !== undefined) throw invalidField(found.path || "params", found.description);
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
  const found = message(value);
  if (found === undefined) return;
  const field = within("message", found);
  throw new TypeError(`the agent made an invalid message: ${field.path} ${field.description}`);
}
