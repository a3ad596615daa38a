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
import { refuseItems } from "../../protocol/refuse-items.ts";
import type { Schema, ValidationResult } from "../../protocol/standard-schema.ts";
import type { ContentBlock } from "../content.ts";
import { McpError } from "../errors.ts";
import { MetaKey } from "../meta-keys.ts";
import { isRecord } from "../record.ts";
import type { ToolResult } from "../results.ts";

/** Makes the result of a tool of what its handler gave. */
export type ResultForm = (value: unknown) => MaybePromise<ToolResult>;

/** For methods: whatever they give is data. `wraps` puts an object around what is none. */
export function dataResult(wraps: boolean): ResultForm {
  return (given) => {
    const value = asSent(given);
    const content: ContentBlock[] = [{ type: "text", text: textOf(value) }];
    if (wraps) return { content, structuredContent: { result: value ?? null } };
    return isRecord(value) ? { content, structuredContent: value } : { content };
  };
}

/** For streams: a list, which says so where it is not complete. */
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

/** For those that were written as tools, and may give content. */
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
    throw new TypeError("the structured content is not what the tool declares", {
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

/** What JSON makes of a value as a whole: a Date or a URL is a text. */
function asSent(value: unknown): unknown {
  refuseItems(value);
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, "") : value;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

/** Whether an error answers the request, rather than being what the model is shown. */
export function isProtocolError(error: ErrorObject): boolean {
  // A status is meant for the client: who must log in or come back later is not the model.
  return error instanceof McpError || (error as Partial<RpcError>).status !== undefined;
}

/** An error as the outcome of a tool, so that the model can do better. */
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

/** More than this no agent reads, and a stream without an end must have one here. */
const mostItems = 10_000;

/** What was taken of a stream. */
export interface TakenItems {
  readonly items: readonly unknown[];
  /** There were more. */
  readonly isCut: boolean;
}

/** A stream as one result: an agent waits for all items, and hears of each as progress. */
export function itemsOf(dispatch: Handle): Handle {
  return async (request, context) => {
    const taken = { items: [], isCut: false };
    const reply = await dispatch(request, collecting(context, taken));
    return reply === undefined || reply.error !== undefined ? (reply as Reply) : success(taken);
  };
}

/** The same call, with a peer that keeps the items of the stream. */
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
      // One more than can be kept tells a stream that is cut from one that is over.
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
  // Everything else is what the call has; a copy would lose its getters.
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
