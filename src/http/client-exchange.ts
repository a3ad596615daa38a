import { decodeUtf8 } from "../framing/utf8.ts";
import type { CredentialSource } from "../protocol/credentials.ts";
import { WireError } from "../protocol/errors.ts";
import type { Payload } from "../protocol/exchange.ts";
import { parseJson } from "../protocol/json-text.ts";
import type { Request } from "../protocol/message.ts";
import { badReply, replyOf } from "../protocol/pair.ts";
import type { HttpSigner } from "../protocol/seal.ts";
import { requestText } from "../protocol/serialize.ts";
import { type EventStreamDecoder, replyTooLarge } from "./event-stream.ts";

/** Header values by name. */
export type HeaderRecord = Readonly<Record<string, string>>;

/** Headers for every request, or a function that returns them for each, such as one that renews a token. */
export type HeaderSource = HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>);

/** Writes a request without the members that are sent as headers; in a batch they stay, since headers are not for one entry. */
export function writeRequest(request: Request, alone: boolean): string {
  const { jsonrpc, method, params, id, timeoutMs, traceparent, types, upload } = request;
  if (!alone || jsonrpc === undefined || (timeoutMs === undefined && traceparent === undefined)) {
    return requestText(request);
  }
  return requestText({ jsonrpc, method, params, id, types, upload });
}

/** Makes the headers of each request: synchronous unless the source is asynchronous, and often the same object. */
export class RequestHeaders {
  readonly #base: HeaderRecord;
  /** For a payload that expects replies only, no events: accepts the first type only. */
  readonly #plain: HeaderRecord;
  /** For a call with rich values: accepts bytes beside the reply too. */
  readonly #rich: HeaderRecord;
  readonly #source: ((refused: boolean) => HeaderRecord | Promise<HeaderRecord>) | undefined;

  constructor(accept: string, source: HeaderSource | undefined, credentials?: CredentialSource) {
    const given = typeof source === "function" ? source : undefined;
    this.#source = credentials
      ? async (refused) => merged(await given?.(), (await credentials({ refused })).headers)
      : given;
    const own = { "content-type": "application/json", accept };
    this.#base = typeof source === "object" ? merged(own, source) : own;
    this.#rich = { ...this.#base, accept: `${accept}, multipart/form-data` };
    this.#plain = { ...this.#base, accept: accept.replace(/,.*/, "") };
  }

  /** The headers of a request, signed if there is a signer; `coding` says how it is compressed and what it accepts. */
  signed(
    signer: HttpSigner | undefined,
    url: string,
    body: string | Uint8Array,
    payload: Payload,
    coding?: HeaderRecord,
  ): HeaderRecord | Promise<HeaderRecord> {
    const own = this.of(payload);
    if (signer === undefined && coding === undefined) return own;
    return Promise.resolve(own).then((given) => {
      const headers = { ...given, ...coding };
      return signer === undefined ? headers : signer.sign({ method: "POST", url, headers, body });
    });
  }

  of(payload: Payload): HeaderRecord | Promise<HeaderRecord> {
    const given = this.#source?.(payload.refused);
    return given instanceof Promise
      ? given.then((headers) => this.#with(headers, payload))
      : this.#with(given, payload);
  }

  #with(given: HeaderRecord | undefined, payload: Payload): HeaderRecord {
    const { headers } = payload;
    const carried = payload.requests.length === 1 ? carriedBy(payload.requests[0]) : undefined;
    const isRich = payload.requests.length === 1 && payload.requests[0]?.types !== undefined;
    const own = payload.awaited ? this.#plain : isRich ? this.#rich : this.#base;
    if (given === undefined && headers === undefined && carried === undefined) return own;
    return merged(own, carried, given, headers);
  }
}

/** The members of a request that are sent as headers. */
export function carriedBy(request: Request | undefined): HeaderRecord | undefined {
  const { timeoutMs, traceparent, tracestate, baggage } = request ?? {};
  if (timeoutMs === undefined && traceparent === undefined) return undefined;
  return merged({
    "timeout-ms": timeoutMs === undefined ? timeoutMs : `${Math.ceil(timeoutMs)}`,
    traceparent,
    tracestate: traceparent && tracestate,
    baggage: traceparent && baggage,
  });
}

/** Later records win; names are compared without case. */
function merged(
  ...records: readonly (Readonly<Record<string, string | undefined>> | undefined)[]
): HeaderRecord {
  const all: Record<string, string> = {};
  for (const record of records) {
    for (const [name, value] of Object.entries(record ?? {})) {
      if (value !== undefined) all[name.toLowerCase()] = value;
    }
  }
  return all;
}

export function isEventStream(contentType: string | null | undefined): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(contentType ?? "");
}

/** A whole body, or undefined if it is longer than the limit. */
export async function readBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const chunk of chunks) {
    const start = length;
    length += chunk.length;
    // Written so that a limit that is not a number lets nothing pass.
    if (!(length <= maxBytes)) return undefined;
    // Copied, because chunks of one byte each would take a hundred times their length.
    if (length > bytes.length) {
      const grown = new Uint8Array(start === 0 ? length : 2 * length);
      grown.set(bytes);
      bytes = grown;
    }
    bytes.set(chunk, start);
  }
  return bytes.subarray(0, length);
}

export async function readText(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string> {
  const bytes = await readBytes(chunks, maxBytes);
  if (bytes === undefined) throw replyTooLarge(maxBytes);
  const text = decodeUtf8(bytes, 0, bytes.length);
  if (text === undefined) throw badReply("the reply is not UTF-8");
  return text;
}

/** Hands over what comes before the reply, and returns the reply; undefined if the stream ended before it. */
export async function readEvents(
  chunks: AsyncIterable<Uint8Array>,
  decoder: EventStreamDecoder,
  payload: Payload,
): Promise<string | undefined> {
  for await (const chunk of chunks) {
    const events: string[] = [];
    decoder.push(chunk, ({ data }) => events.push(data));
    for (const data of events) {
      const taken = payload.receive(data);
      if (taken === false) return data;
      if (taken !== true) await taken;
    }
  }
  return undefined;
}

/** A signature covers a whole body, so events cannot be signed. */
export function unsignedEvents(): WireError {
  return badReply("an event stream is not signed");
}

/** The reply, or undefined if there is none; throws if the status is an error and the body is not JSON-RPC. */
export function replyText(status: number, text: string, payload: Payload): string | undefined {
  if (status >= 200 && status < 300) return text === "" ? undefined : text;
  if (payload.expectsReply && isReply(text)) return text;
  const instead = payload.expectsReply ? ", not with JSON-RPC" : "";
  const sentence = `the server answered with the status ${status}${instead}`;
  throw new WireError("HTTP_STATUS", sentence, { status });
}

function isReply(text: string): boolean {
  const [first] = [parseJson(text)].flat();
  return replyOf(first) !== undefined;
}

/** Codes of a connection that was never established, so that the call cannot have run; a bad TLS record comes later. */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket|EPROTO)$|CERT|LEAF|^ERR_(TLS|SSL(?!.*RECORD))/;

/** Converts a failure of `fetch` or of a socket. */
export function wireErrorOf(thrown: unknown): WireError {
  if (thrown instanceof WireError) return thrown;
  const outer = (thrown ?? {}) as { cause?: unknown; message?: string; code?: unknown };
  // The reason of a failed `fetch` is the cause of its error.
  const inner = (outer.cause ?? outer) as {
    name?: string;
    message?: string;
    code?: unknown;
    syscall?: string;
  };
  const why = inner.message || outer.message || "unknown reason";
  const name = `${inner.code ?? outer.code}`;
  if (inner.name === "HTTPParserError") {
    return badReply("the response is not HTTP", { cause: thrown });
  }
  // Browsers give no reason: the call may have run, so it counts as lost. Deno gives the reason in the message.
  // Node names the failed step: if that is connect, nothing was sent, whatever the code.
  const unsent = neverConnected.test(name) || /(^|\()connect\W|connection refused/i.test(why);
  // A host may become unreachable while its reply is read.
  return unsent && inner.syscall !== "read"
    ? new WireError("CONNECTION_FAILED", `no connection to the server: ${why}`, { cause: thrown })
    : new WireError("CONNECTION_LOST", `the connection broke: ${why}`, { cause: thrown });
}

/** The event stream ended without the reply. */
export function endedEarly(): WireError {
  return new WireError("CONNECTION_LOST", "the event stream ended before the reply");
}

/** The chunks of a body of `fetch`; leaving the loop releases the connection. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  // Not every browser can iterate over streams.
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
