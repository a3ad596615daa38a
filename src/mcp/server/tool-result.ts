import type { Context } from "../../protocol/context.ts";
import type { RpcError } from "../../protocol/errors.ts";
import type { Handle } from "../../protocol/handle.ts";
import {
  type ErrorObject,
  isThenable,
  type MaybePromise,
  type Reply,
  success,
} from "../../protocol/message.ts";
import type { Peer } from "../../protocol/origin.ts";
import { isRecord } from "../../protocol/record.ts";
import { refuseItems } from "../../protocol/reply-text.ts";
import type { Schema, ValidationResult } from "../../protocol/standard-schema.ts";
import type { ContentBlock } from "../content.ts";
import { McpError } from "../errors.ts";
import { MetaKey } from "../meta-keys.ts";
import type { ToolResult } from "../results.ts";

/** Converts what a handler returned to the result of a tool. */
export type ResultForm = (value: unknown) => MaybePromise<ToolResult>;

/** For methods, which return data. `wraps` puts it into an object. */
export function dataResult(wraps: boolean): ResultForm {
  return (given) => {
    const value = asSent(given);
    const content: ContentBlock[] = [{ type: "text", text: textOf(value) }];
    if (wraps) return { content, structuredContent: { result: value ?? null } };
    return isRecord(value) ? { content, structuredContent: value } : { content };
  };
}

/** For streams: an array, marked if it is incomplete. */
export const itemsResult: ResultForm = (given) => {
  const { items, isCut } = given as TakenItems;
  const content: ContentBlock[] = [{ type: "text", text: textOf(items) }];
  if (!isCut) return { content, structuredContent: { result: items } };
  const sentence = `The list is not complete: the stream was cut after ${items.length} items.`;
  return {
    content: [...content, { type: "text", text: sentence }],
    structuredContent: { result: items, cutAfter: items.length },
  };
};

/** For handlers of `tool`, which may return content. */
export function contentResult(output: Schema | undefined): ResultForm {
  return (value) => {
    const result = contentOf(value);
    if (output === undefined || result.isError === true) return result;
    const checked = output["~standard"].validate(result.structuredContent);
    return isThenable(checked)
      ? checked.then((outcome) => withStructure(result, outcome))
      : withStructure(result, checked);
  };
}

function withStructure(result: ToolResult, checked: ValidationResult<unknown>): ToolResult {
  if (checked.issues !== undefined) {
    throw new TypeError("the structured content does not match the output schema of the tool", {
      cause: checked.issues,
    });
  }
  return { ...result, structuredContent: checked.value };
}

function contentOf(given: unknown): ToolResult {
  const value = asSent(given);
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (value === undefined) return { content: [] };
  if (isBlocks(value)) return { content: value };
  if (isRecord(value)) {
    return isBlocks(value.content)
      ? (value as unknown as ToolResult)
      : { content: [{ type: "text", text: textOf(value) }], structuredContent: value };
  }
  return { content: [{ type: "text", text: textOf(value) }] };
}

function isBlocks(value: unknown): value is ContentBlock[] {
  return (
    Array.isArray(value) && value.every((each) => isRecord(each) && typeof each.type === "string")
  );
}

/** Applies `toJSON`: a Date or a URL becomes a string. */
function asSent(value: unknown): unknown {
  refuseItems(value);
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, "") : value;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Whether an error fails the request, rather than being shown to the model. */
export function isProtocolError(error: ErrorObject): boolean {
  // A status is for the client: the model can neither sign in nor retry later.
  return error instanceof McpError || (error as Partial<RpcError>).status !== undefined;
}

/** An error as the result of a tool, so that the model can correct its call. */
export function errorResult(error: ErrorObject): ToolResult {
  const { code, message, data } = error;
  const details = isRecord(data) && typeof data.details === "string" ? data.details : undefined;
  const shown = details ?? (data === undefined ? undefined : textOf(data));
  return {
    content: [{ type: "text", text: shown === undefined ? message : `${message}: ${shown}` }],
    isError: true,
    _meta: { [MetaKey.Error]: data === undefined ? { code } : { code, data } },
  };
}

/** Most items taken of a stream, which may be endless. */
const mostItems = 10_000;

/** The items taken of a stream. */
export interface TakenItems {
  readonly items: readonly unknown[];
  /** Whether there were more. */
  readonly isCut: boolean;
}

/** Runs a stream as one result: the agent waits for all items, and each is reported as progress. */
export function itemsOf(dispatch: Handle): Handle {
  return async (request, context) => {
    const taken = { items: [], isCut: false };
    const reply = await dispatch(request, collecting(context, taken));
    return reply === undefined || reply.error !== undefined ? (reply as Reply) : success(taken);
  };
}

/** The same call, with a peer that collects the items of the stream. */
function collecting(context: Context, taken: { items: unknown[]; isCut: boolean }): Context {
  const { peer } = context;
  const { items } = taken;
  const enough = new AbortController();
  context.signal.addEventListener("abort", () => enough.abort(context.signal.reason));
  const collector: Peer = {
    canNotify: true,
    closed: peer.closed,
    ready: () => undefined,
    call: (...args) => peer.call(...args),
    send: (...args) => peer.send(...args),
    sendBatch: (...args) => peer.sendBatch(...args),
    close: () => peer.close(),
    notify(method, params) {
      if (method !== "$/stream") return peer.notify(method, params);
      // The item after the last that fits shows that the stream is longer.
      if (items.length === mostItems) {
        taken.isCut = true;
        enough.abort();
        return true;
      }
      items.push((params as { value: unknown }).value);
      context.progress({});
      return true;
    },
  };
  // A proxy, because a copy would lose the getters of the call.
  return new Proxy(context, {
    set: (target, name, value) => Reflect.set(target, name, value, target),
    get: (target, name) => {
      if (name === "peer") return collector;
      if (name === "signal") return enough.signal;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
