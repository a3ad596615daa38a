import { carriedBy, type HeaderRecord } from "../../http/client-exchange.ts";
import { timeoutOf } from "../../http/http-transport.ts";
import { invalidRequest, WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import type { Transport } from "../../protocol/origin.ts";
import { createHeaders, type MsgHdrs } from "./client-library.ts";

/** What a payload says in headers: time and trace as over HTTP, and what its caller adds. */
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

/** Sets a header, or says why it cannot travel. */
export function setHeader(headers: MsgHdrs, name: string, value: string): void {
  try {
    headers.set(name.toLowerCase(), value);
  } catch (error) {
    throw untakeable(name, error as Error);
  }
}

function untakeable(name: string, cause: Error): WireError {
  const sentence = `NATS does not take the header ${JSON.stringify(name)}: ${cause.message}`;
  return new WireError("UNSUPPORTED", sentence, { cause });
}

function isEmpty(record: HeaderRecord | undefined): boolean {
  for (const _ in record) return false;
  return true;
}

/** A message of NATS, or of JetStream. */
interface Headed {
  readonly headers?: MsgHdrs | undefined;
}

/**
 * Whether the headers of a message can be read. NATS's client throws where a name has a space in it, for example,
 * and thrown where a message is heard, that would stop its connection for good.
 */
export function hasReadableHeaders(message: Headed): boolean {
  try {
    // They are read when they are first asked for.
    void message.headers;
    return true;
  } catch {
    return false;
  }
}

/** The headers of a message; none where they cannot be read. */
export function headersIn(message: Headed): MsgHdrs | undefined {
  return hasReadableHeaders(message) ? message.headers : undefined;
}

/**
 * The headers of a message that goes to another stream. Those in which its sender said something to the engine are not among them: its
 * id, by which it would be a repetition there, or which stream it expects, for which it would be refused for ever.
 */
export function withoutOrders(headers: MsgHdrs | undefined): MsgHdrs {
  const kept = createHeaders();
  for (const [name, values] of headers ?? []) {
    if (!/^nats-/i.test(name)) for (const value of values) kept.append(name, value);
  }
  return kept;
}

/** What is answered where they cannot. */
export const unreadableHeaders: ErrorObject = invalidRequest("its headers cannot be read");

const plain: Transport = { kind: "nats", headers: {}, remoteAddress: undefined };

/** How a message arrived. */
export function transportOf(headers: MsgHdrs | undefined): Transport {
  if (headers === undefined) return plain;
  // A name from the wire must not reach a prototype.
  const record: Record<string, string | readonly string[]> = Object.create(null);
  for (const [name, values] of headers) {
    record[name.toLowerCase()] = values.length === 1 ? (values[0] as string) : values;
  }
  const { "timeout-ms": timeout } = record;
  const timeoutMs = typeof timeout === "string" ? timeoutOf(timeout) : undefined;
  return { kind: "nats", headers: record, remoteAddress: undefined, timeoutMs };
}
