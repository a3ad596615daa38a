import { carriedBy, type HeaderRecord } from "../../http/client-exchange.ts";
import { timeoutOf } from "../../http/http-transport.ts";
import { invalidRequest, WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import type { Transport } from "../../protocol/origin.ts";
import { createHeaders, type Msg, type MsgHdrs } from "./client-library.ts";

/** The headers of a payload: timeout and trace as over HTTP, and those that the caller adds. */
export function headersOf(payload: Payload, base: HeaderRecord | undefined): MsgHdrs | undefined {
  const [only, second] = payload.requests;
  const carried = second === undefined && only !== undefined ? carriedBy(only) : undefined;
  const { headers } = payload;
  if (carried === undefined && isEmpty(headers) && isEmpty(base)) return undefined;
  const written = createHeaders();
  for (const record of [base, carried, headers]) {
    for (const [name, value] of Object.entries(record ?? {})) setHeader(written, name, value);
  }
  return written;
}

export function setHeader(headers: MsgHdrs, name: string, value: string): void {
  try {
    headers.set(name.toLowerCase(), value);
  } catch (error) {
    throw rejectedHeader(name, error as Error);
  }
}

function rejectedHeader(name: string, cause: Error): WireError {
  const message = `NATS does not accept the header ${JSON.stringify(name)}: ${cause.message}`;
  return new WireError("UNSUPPORTED", message, { cause });
}

function isEmpty(record: HeaderRecord | undefined): boolean {
  for (const _ in record) return false;
  return true;
}

interface WithHeaders {
  readonly data: Uint8Array;
  readonly headers?: MsgHdrs | undefined;
}

/** The limit of Node's HTTP server too: parsed headers take many times their length, for as long as their call runs. */
const longestHeaders = 16 * 1024;

/**
 * Whether the headers are not too long, and NATS's client can parse them. If it cannot, reading them throws, and in a subscription callback
 * that ends the connection.
 */
export function hasReadableHeaders(message: WithHeaders): boolean {
  try {
    if (headerLength(message) > longestHeaders) return false;
    // The client parses them on first access.
    void message.headers;
    return true;
  } catch {
    return false;
  }
}

/** Length of the headers and subjects. `size` is missing in the types of NATS's client, and reading the headers would parse them. */
function headerLength(message: WithHeaders): number {
  const { msg = message } = message as { readonly msg?: object };
  const { size } = msg as { size?(): number };
  return size === undefined ? 0 : size.call(msg) - message.data.length;
}

/** The headers of a message, or undefined if they cannot be parsed. */
export function headersIn(message: WithHeaders): MsgHdrs | undefined {
  return hasReadableHeaders(message) ? message.headers : undefined;
}

/** nats-server's answer to a message without a subscriber. */
export function isUndelivered(message: WithHeaders): boolean {
  return headersIn(message)?.code === 503;
}

/** Copies headers without those for nats-server, such as the message id, which must not take effect again in another stream. */
export function withoutNatsHeaders(headers: MsgHdrs | undefined): MsgHdrs {
  const kept = createHeaders();
  for (const [name, values] of headers ?? []) {
    if (!/^nats-/i.test(name)) for (const value of values) kept.append(name, value);
  }
  return kept;
}

export const unreadableHeaders: ErrorObject = invalidRequest(
  "its headers cannot be read, or are longer than 16 KiB",
);

const withoutHeaders: Transport = { kind: "nats", headers: {}, remoteAddress: undefined };

/** What a handler sees of the transport of a message. */
export function transportOf(headers: MsgHdrs | undefined): Transport {
  if (headers === undefined) return withoutHeaders;
  // Header names must not reach a prototype.
  const record: Record<string, string | readonly string[]> = Object.create(null);
  for (const [name, values] of headers) {
    record[name.toLowerCase()] = values.length === 1 ? (values[0] as string) : values;
  }
  const { "timeout-ms": timeout } = record;
  const timeoutMs = typeof timeout === "string" ? timeoutOf(timeout) : undefined;
  return { kind: "nats", headers: record, remoteAddress: undefined, timeoutMs };
}

/**
 * NATS can lose a message without an error, such as while a worker reconnects. So items are numbered, and this header of the reply says how
 * many there were: a stream with gaps must not look complete.
 */
const itemsHeader = "callwire-items";
/** At least what the header takes in a message. */
export const itemsHeaderBytes = 64;

export function itemsHeaders(items: number): MsgHdrs | undefined {
  if (items === 0) return undefined;
  const headers = createHeaders();
  headers.set(itemsHeader, `${items}`);
  return headers;
}

/** How many items were sent before this reply, or undefined if it does not say. */
export function itemsBefore(reply: Msg): number | undefined {
  const headers = headersIn(reply);
  return headers?.has(itemsHeader) ? Number(headers.get(itemsHeader)) : undefined;
}
