import { isRecord } from "../../protocol/record.ts";
import type { ConformanceExchange, Expectation, ReplyPattern } from "./case.ts";
import type { Received } from "./conformance-wire.ts";

/** How many messages to wait for before the answer is checked. */
export function wantedOf(expect: Expectation): number {
  switch (expect.kind) {
    case "nothing":
      return 0;
    case "replies":
      return expect.replies.length;
    case "all":
      return Math.max(...expect.of.map(wantedOf));
    case "one-of":
      return Math.min(...expect.of.map(wantedOf));
    default:
      return 1;
  }
}

/** What is wrong with the answer, in one sentence; undefined if nothing is. */
export function judge(
  { expect, hides = {} }: ConformanceExchange,
  received: Received,
): string | undefined {
  const fault = faultOf(expect, received);
  if (fault !== undefined) return fault;
  if (received.stuck) return "the connection stopped answering after it";
  const text = received.messages.join("\n");
  const leaked = Object.entries(hides).find(([, pattern]) => new RegExp(pattern).test(text));
  return leaked === undefined ? undefined : `the answer shows ${leaked[0]}`;
}

function faultOf(expect: Expectation, received: Received): string | undefined {
  const { messages, http } = received;
  switch (expect.kind) {
    case "nothing":
      return messages.length === 0 ? undefined : "the server answered, but must not";
    case "reply":
      return one(received) ?? replyFault(expect.reply, messages[0] as string);
    case "batch":
      return one(received) ?? batchFault(expect.replies, messages[0] as string);
    case "replies":
      if (messages.length === expect.replies.length) return eachFault(expect.replies, messages);
      return `received ${count(messages.length)}, expected ${expect.replies.length}${because(received)}`;
    case "refusal":
      return refusalFault(expect.except ?? [], received);
    case "settled":
      return settledFault(received);
    case "status":
      if (http === undefined) return missing(received);
      return http.status >= expect.from && http.status <= expect.to
        ? undefined
        : `the status is ${http.status}, expected ${rangeOf(expect.from, expect.to)}`;
    case "content-type": {
      if (http === undefined) return missing(received);
      const [type = ""] = (http.headers["content-type"] ?? "").split(";");
      return type.trim().toLowerCase() === expect.type
        ? undefined
        : `the content type is ${JSON.stringify(type)}, expected ${expect.type}`;
    }
    case "closed-to-origin": {
      if (http === undefined) return missing(received);
      const allowed = http.headers["access-control-allow-origin"];
      return allowed === "*" || allowed === expect.origin
        ? `pages of ${expect.origin} may read the response: access-control-allow-origin is ${allowed}`
        : undefined;
    }
    case "version-1":
      return one(received) ?? version1Fault(expect.id, messages[0] as string);
    case "all":
      return expect.of.map((each) => faultOf(each, received)).find((fault) => fault !== undefined);
    case "one-of": {
      const faults = expect.of.map((each) => faultOf(each, received));
      return faults.includes(undefined) ? undefined : faults[0];
    }
  }
}

function count(messages: number): string {
  return messages === 1 ? "1 message" : `${messages} messages`;
}

function rangeOf(from: number, to: number): string {
  return from === to ? `${from}` : `${from} to ${to}`;
}

function because({ timedOut, ended }: Received): string {
  if (ended !== undefined) return `; ${ended}`;
  return timedOut ? "; then no answer" : "";
}

/** Says why there is no answer. */
function missing({ timedOut, ended, http }: Received): string {
  if (ended !== undefined) return `no answer: ${ended}`;
  if (http !== undefined) return `no answer except the HTTP status ${http.status}`;
  return timedOut ? "no answer within the timeout" : "no answer";
}

function one(received: Received): string | undefined {
  const { messages } = received;
  if (messages.length === 1) return undefined;
  return messages.length === 0
    ? missing(received)
    : `received ${count(messages.length)}, expected 1`;
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function replyFault(pattern: ReplyPattern, text: string): string | undefined {
  const json = parsed(text);
  if (json === undefined) return "the answer is not JSON";
  return matchFault(pattern, json.value, text);
}

function matchFault(pattern: ReplyPattern, value: unknown, text: string): string | undefined {
  const shape = responseFault(value);
  if (shape !== undefined) return shape;
  const { id, error, result } = value as {
    id: unknown;
    error?: { code: number };
    result?: unknown;
  };
  const { ids, codes, result: expected } = pattern;
  if (error !== undefined && expected !== undefined) {
    return `the answer is the error ${error.code}, expected the result ${expected}`;
  }
  if (error === undefined && codes !== undefined)
    return "the answer is a result, expected an error";
  if (error !== undefined && Array.isArray(codes) && !codes.includes(error.code)) {
    return `the code is ${error.code}, expected ${codes.length > 3 ? "one of the allowed codes" : codes.join(" or ")}`;
  }
  if (expected !== undefined && !sameJson(result, JSON.parse(expected))) {
    return `the result is ${JSON.stringify(result)}, expected ${expected}`;
  }
  return ids.some((each) => isId(each, id, text))
    ? undefined
    : `the id is ${JSON.stringify(id)}, expected ${ids.join(" or ")}`;
}

/** Looks in the raw text for an id with more digits than a double can hold. */
function isId(expected: string, id: unknown, text: string): boolean {
  const value: unknown = JSON.parse(expected);
  if (typeof value !== "number" || !Number.isInteger(value) || Number.isSafeInteger(value)) {
    return value === id;
  }
  return new RegExp(`"id"\\s*:\\s*${expected}(?![\\d.eE])`).test(text);
}

function sameJson(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, i) => sameJson(item, right[i]));
  }
  if (isRecord(left) && isRecord(right)) {
    const names = Object.keys(left);
    return (
      names.length === Object.keys(right).length &&
      names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]))
    );
  }
  return left === right;
}

function batchFault(patterns: readonly ReplyPattern[], text: string): string | undefined {
  const json = parsed(text);
  if (json === undefined) return "the answer is not JSON";
  if (!Array.isArray(json.value)) return `the answer is ${kindOf(json.value)}, expected an array`;
  if (json.value.length !== patterns.length) {
    return `the array has ${json.value.length} responses, expected ${patterns.length}`;
  }
  return pairFault(patterns, json.value, () => text);
}

function eachFault(
  patterns: readonly ReplyPattern[],
  messages: readonly string[],
): string | undefined {
  const values = messages.map(parsed);
  if (values.includes(undefined)) return "an answer is not JSON";
  return pairFault(
    patterns,
    values.map((json) => json?.value),
    (i) => messages[i] as string,
  );
}

/** Pairs each expected reply with an answer, in any order. */
function pairFault(
  patterns: readonly ReplyPattern[],
  values: readonly unknown[],
  textOf: (index: number) => string,
): string | undefined {
  const left = new Set(values.keys());
  for (const pattern of patterns) {
    const faults = [...left].map((i) => ({ i, fault: matchFault(pattern, values[i], textOf(i)) }));
    const fits = faults.find(({ fault }) => fault === undefined);
    if (fits === undefined) {
      const why = faults.length === 1 ? faults[0]?.fault : undefined;
      return why ?? `no response is ${described(pattern)}`;
    }
    left.delete(fits.i);
  }
  return undefined;
}

function described({ ids, codes, result }: ReplyPattern): string {
  const what =
    result === undefined
      ? `the error ${codes === "any" ? "" : codes?.join(" or ")}`
      : `the result ${result}`;
  return `${what} with the id ${ids.join(" or ")}`;
}

/** The responses in a message; undefined if it has anything else. */
function repliesIn(text: string): readonly unknown[] | undefined {
  const json = parsed(text);
  if (json === undefined) return undefined;
  const values: readonly unknown[] = Array.isArray(json.value) ? json.value : [json.value];
  return values.length > 0 && values.every((value) => responseFault(value) === undefined)
    ? values
    : undefined;
}

function refusalFault(except: readonly number[], received: Received): string | undefined {
  const { messages, http, ended, timedOut } = received;
  for (const text of messages) {
    const replies = repliesIn(text);
    if (replies === undefined) {
      // The body of an HTTP error may have any format.
      if (http !== undefined && http.status >= 400) continue;
      return "the answer is not JSON-RPC";
    }
    if (replies.length > 1) return "the request was answered as a batch, expected a refusal";
    const { error } = replies[0] as { error?: { code: number } };
    if (error === undefined) return "the request was answered with a result, expected a refusal";
    if (except.includes(error.code))
      return `the request was accepted and answered with ${error.code}`;
  }
  if (messages.length > 0 || ended !== undefined) return undefined;
  if (http !== undefined) {
    return http.status >= 400 ? undefined : `the request was accepted with status ${http.status}`;
  }
  return timedOut ? "no answer within the timeout" : "the request was accepted, expected a refusal";
}

function settledFault(received: Received): string | undefined {
  const { messages, http, ended } = received;
  if (http !== undefined && http.status >= 400) return undefined;
  if (messages.length === 0) return ended === undefined ? missing(received) : undefined;
  return messages.every((text) => repliesIn(text) !== undefined)
    ? undefined
    : "the answer is not JSON-RPC";
}

function version1Fault(id: string, text: string): string | undefined {
  const { value } = parsed(text) ?? {};
  if (!isRecord(value)) return "the answer is not an object";
  if (Object.hasOwn(value, "jsonrpc")) return responseFault(value) ?? "the answer has version 2.0";
  const complete = Object.hasOwn(value, "result") && isRecord(value.error);
  return complete && value.result === null && value.id === JSON.parse(id)
    ? undefined
    : "the answer is not a 1.0 response with a null result, an error and the id";
}

/** Why a value is not a 2.0 Response object, in one sentence; undefined if it is one. */
function responseFault(value: unknown): string | undefined {
  if (!isRecord(value)) return `the response is ${kindOf(value)}, expected an object`;
  if (value.jsonrpc !== "2.0") {
    return Object.hasOwn(value, "jsonrpc")
      ? `the response has version ${JSON.stringify(value.jsonrpc)}, expected "2.0"`
      : 'the response has no member "jsonrpc"';
  }
  if (!Object.hasOwn(value, "id")) return 'the response has no member "id"';
  const { id } = value;
  if (typeof id !== "string" && typeof id !== "number" && id !== null) {
    return `the id of the response is ${kindOf(id)}, expected a string, a number or null`;
  }
  const hasResult = Object.hasOwn(value, "result");
  if (!Object.hasOwn(value, "error")) {
    return hasResult ? undefined : 'the response has neither "result" nor "error"';
  }
  return hasResult ? 'the response has both "result" and "error"' : errorFault(value.error);
}

function errorFault(error: unknown): string | undefined {
  if (!isRecord(error)) return `the error is ${kindOf(error)}, expected an object`;
  if (!Number.isInteger(error.code)) {
    return `the code of the error is ${JSON.stringify(error.code) ?? "missing"}, expected an integer`;
  }
  return typeof error.message === "string"
    ? undefined
    : `the message of the error is ${JSON.stringify(error.message) ?? "missing"}, expected a string`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
