import type { Envelope } from "./envelope.ts";
import { duplicateMember } from "./envelope.ts";
import type { RpcErrorOptions } from "./errors.ts";
import { skipSpace, valueEnd } from "./json-scan.ts";
import { exceedsDepth, type Limits } from "./limits.ts";
import type { ErrorObject } from "./message.ts";
import type { Origin } from "./origin.ts";
import { copyString } from "./string-copy.ts";

/** A version of JSON-RPC. */
export type Version = "1.0" | "2.0";

/** Restrictions of a protocol on top of JSON-RPC, such as MCP. */
export interface Profile {
  /** False refuses the id null, and leaves `id` out of replies to unreadable messages. */
  readonly nullIds: boolean;
  /** False refuses requests without an id. @default true */
  readonly notifications?: boolean;
  /** False accepts params by name only. */
  readonly positionalParams: boolean;
  /** Whether batches from this origin are accepted. */
  batches(origin: Origin): boolean;
  /** How an error is sent, if our codes mean something else there. @default as it is */
  sentError?(error: ErrorObject): ErrorObject;
}

/** Which messages are valid requests. */
export interface Rules {
  readonly limits: Limits;
  readonly versions: ReadonlySet<Version>;
  /** Whether `"params": null` is accepted as no params; the specification allows arrays and objects only. */
  readonly allowNullParams: boolean;
  readonly profile?: Profile | undefined;
}

/**
 * Why a message is not a valid 2.0 request, or undefined. Members are compared with undefined, which JSON cannot
 * hold, to distinguish absent from null.
 */
export function requestFault(
  message: Envelope,
  rules: Rules,
  mayBeDeep: boolean,
): string | undefined {
  if (message.jsonrpc !== "2.0") {
    if (message.jsonrpc === duplicateMember) return "a member occurs twice";
    return message.jsonrpc === undefined
      ? 'the member "jsonrpc" is missing'
      : 'the member "jsonrpc" must be exactly "2.0"';
  }
  if (typeof message.method !== "string") {
    return message.method === undefined
      ? 'the member "method" is missing'
      : 'the member "method" must be a string';
  }
  const { params, id } = message;
  if (params !== undefined) {
    if (typeof params !== "object" || (params === null && !rules.allowNullParams)) {
      return 'the member "params" must be an array or an object';
    }
    if (rules.profile?.positionalParams === false && Array.isArray(params)) {
      return 'the member "params" must be an object';
    }
    // The message itself is one level.
    if (mayBeDeep && exceedsDepth(params, rules.limits.maxDepth - 1)) return tooDeep(rules.limits);
  }
  if (id === undefined && rules.profile?.notifications === false)
    return 'the member "id" is missing';
  if (id === null && rules.profile?.nullIds === false) return 'the member "id" must not be null';
  if (typeof id === "number" || id === undefined || id === null) return undefined;
  if (typeof id !== "string") return 'the member "id" must be a string, a number or null';
  return id.length > rules.limits.maxIdLength ? idTooLong(rules.limits) : undefined;
}

/** The same for a 1.0 request: checks only the limits, because all else has been checked. */
export function limitFault(
  message: Envelope,
  limits: Limits,
  mayBeDeep: boolean,
): string | undefined {
  if (mayBeDeep && exceedsDepth(message.params, limits.maxDepth - 1)) return tooDeep(limits);
  const { id } = message;
  return typeof id === "string" && id.length > limits.maxIdLength ? idTooLong(limits) : undefined;
}

function tooDeep(limits: Limits): string {
  return `the message is nested deeper than ${limits.maxDepth} levels`;
}

export function idTooLong(limits: Limits): string {
  return `the member "id" is longer than ${limits.maxIdLength} characters`;
}

/** Whether a numeric id must be echoed as written, because a double cannot hold it. */
export function isUnsafe(id: unknown): boolean {
  return typeof id === "number" && !Number.isSafeInteger(id);
}

/**
 * The digits of a numeric id as the caller wrote them, for ids that a double cannot hold. `text` is JSON that has
 * been parsed; `batch` knows the current entry.
 */
export function numberAsWritten(text: string, batch: BatchText | undefined): string {
  const start = batch === undefined ? skipSpace(text, 0) : batch.start();
  let at = skipSpace(text, start + 1);
  let found = "null";
  while (text[at] !== "}") {
    const keyEnd = valueEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, valueStart);
    if (key === "id") found = text.slice(valueStart, end);
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return found;
}

/** A longer batch is a large part of its chunk, which is 64 KiB on most wires, and takes longer to copy. */
const longestCopied = 4096;

/**
 * Finds the entries of a batch in its JSON. It continues from the last entry, because starting over for each would
 * take 300 ms for a message of 1 MiB.
 */
export class BatchText {
  #text: string;
  #found = 0;
  #start: number | undefined;
  #end: number | undefined;
  /** Index of the current entry; it only grows. */
  entry = 0;
  readonly refusal = new SharedRefusal();

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  /** Detaches the batch from the chunk that brought it. */
  detach(): void {
    if (this.#text.length <= longestCopied) this.#text = copyString(this.#text);
  }

  /** Start of the current entry. */
  start(): number {
    const text = this.#text;
    let at = this.#start ?? skipSpace(text, skipSpace(text, 0) + 1);
    for (; this.#found < this.entry; this.#found++) {
      at = skipSpace(text, skipSpace(text, this.#end ?? valueEnd(text, at)) + 1);
      this.#end = undefined;
    }
    this.#start = at;
    return at;
  }

  /** Length of the current entry. */
  length(): number {
    const start = this.start();
    this.#end ??= valueEnd(this.#text, start);
    return this.#end - start;
  }
}

/** Whether a message is a 1.0 request, which has no version member but a method, an array of params and an id. */
export function isVersion1(message: Envelope): boolean {
  return (
    message.jsonrpc === undefined &&
    typeof message.method === "string" &&
    Array.isArray(message.params) &&
    message.id !== undefined &&
    (message.id === null || typeof message.id !== "object")
  );
}

/** The error that all entries of a batch failed with, so that HTTP can set the status as for one call. */
export class SharedRefusal {
  #error: (ErrorObject & RpcErrorOptions) | undefined = undefined;
  #count = 0;

  /** Adds the error of an entry; one without a status, or with another one than before, is not counted. */
  add(error: ErrorObject & RpcErrorOptions): void {
    const { status, code } = error;
    const before = this.#error ?? error;
    if (status === undefined || status !== before.status || code !== before.code) return;
    this.#error = error;
    this.#count++;
  }

  /** Undefined unless every entry failed with the same error. */
  of(entries: number): ErrorObject | undefined {
    return this.#count === entries ? this.#error : undefined;
  }
}
