import { badReply } from "../../protocol/pair.ts";
import { isRecord } from "../../protocol/record.ts";
import type { Result, ToolResult } from "../results.ts";
import { taskStatuses } from "../task.ts";

/** Describes what a value lacks, such as "array at content"; undefined if it lacks nothing. */
export type Shape = (value: unknown, place: string) => string | undefined;

type Members = Readonly<Record<string, Shape>>;

/** Returns the result unchanged if it has what its type promises; unknown members are allowed. */
export function checkedShape<R>(method: string, result: R, shape: Shape): R {
  if (!isRecord(result)) throw badReply(`the result of ${method} is not an object`);
  const lacking = shape(result, "");
  if (lacking !== undefined) throw badReply(`the result of ${method} has no ${lacking}`);
  return result;
}

function kind(name: string, fits: (value: unknown) => boolean): Shape {
  return (value, place) => (fits(value) ? undefined : `${name} at ${place}`);
}

const string = kind("string", (value) => typeof value === "string");
const number = kind("number", (value) => typeof value === "number");
const record = kind("object", isRecord);

/** Some servers send null for a missing member. */
function optional(shape: Shape): Shape {
  return (value, place) =>
    value === undefined || value === null ? undefined : shape(value, place);
}

export function list(entry: Shape): Shape {
  return (value, place) =>
    Array.isArray(value)
      ? firstLacking(value, (each, index) => entry(each, `${place}[${index}]`))
      : `array at ${place}`;
}

function recordOf(entry: Shape): Shape {
  return (value, place) =>
    record(value, place) ??
    firstLacking(Object.entries(value as object), ([key, each]) => entry(each, `${place}.${key}`));
}

export function object(members: Members = {}): Shape {
  return (value, place) =>
    record(value, place) ??
    firstLacking(Object.entries(members), ([name, shape]) =>
      shape((value as Members)[name], place === "" ? name : `${place}.${name}`),
    );
}

function firstLacking<T>(
  all: readonly T[],
  lacking: (each: T, index: number) => string | undefined,
): string | undefined {
  for (const [index, each] of all.entries()) {
    const found = lacking(each, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

const described = {
  name: string,
  title: optional(string),
  description: optional(string),
};

export const toolEntry = object({
  ...described,
  inputSchema: record,
  outputSchema: optional(record),
  execution: optional(record),
});
export const resourceEntry = object({ ...described, uri: string, mimeType: optional(string) });
export const templateEntry = object({
  ...described,
  uriTemplate: string,
  mimeType: optional(string),
});
export const promptEntry = object({
  ...described,
  arguments: optional(list(object({ name: string }))),
});

const located = object({ uri: string, mimeType: optional(string) });

const contents: Shape = (value, place) => {
  const lacking = located(value, place);
  if (lacking !== undefined) return lacking;
  const { text, blob } = value as { text?: unknown; blob?: unknown };
  return typeof text === "string" || typeof blob === "string"
    ? undefined
    : `text or blob at ${place}`;
};

const bytes = object({ data: string, mimeType: string });

const blocks: ReadonlyMap<unknown, Shape> = new Map([
  ["text", object({ text: string })],
  ["image", bytes],
  ["audio", bytes],
  ["resource", object({ resource: contents })],
  ["resource_link", object({ uri: string, name: string })],
]);

const typed = object({ type: string });

/** Content of an unknown type is passed on unchecked. */
const block: Shape = (value, place) =>
  typed(value, place) ?? blocks.get((value as { type: string }).type)?.(value, place);

const blocksOnly = object({ content: list(block) });
const structured = object({ content: optional(list(block)) });

/** The result of a tool; some servers omit the content if there is structured content. */
export function toolResult(method: string, result: unknown): ToolResult {
  const isStructured = isRecord(result) && result.structuredContent !== undefined;
  const given = checkedShape(method, result as ToolResult, isStructured ? structured : blocksOnly);
  return { ...given, content: given.content ?? [] };
}

export const promptResult = object({ messages: list(object({ role: string, content: block })) });
export const readResult = object({ contents: list(contents) });
export const completionResult = object({
  completion: object({ values: list(string), total: optional(number) }),
});

const inputRequests = recordOf(object({ method: string, params: optional(record) }));
export const inputRequired = object({ inputRequests: optional(inputRequests) });

/** An unknown status would be polled forever. */
const status = kind("known status", (value) =>
  (taskStatuses as readonly unknown[]).includes(value),
);
const state = { taskId: string, status };
export const createdTask = object(state);
export const taskResult = object({
  ...state,
  error: optional(object({ code: number, message: string })),
  inputRequests: optional(inputRequests),
});

/** Throws for result types that this client does not support. */
export function completed<R extends Result>(result: R): R {
  const { resultType } = result ?? {};
  if (resultType === undefined || resultType === "complete") return result;
  throw badReply(`the server returned a result of the unknown type ${JSON.stringify(resultType)}`);
}
