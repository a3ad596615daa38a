import { decodeUtf8 } from "../framing/utf8.ts";
import { WireError } from "../protocol/errors.ts";
import type { Payload } from "../protocol/exchange.ts";
import type { Request } from "../protocol/message.ts";
import { badReply, replyOf } from "../protocol/pair.ts";
import { isEnvelope } from "../protocol/parse.ts";
import type { HttpSigner } from "../protocol/seal.ts";
import { requestText } from "../protocol/serialize.ts";
import type { EventStreamDecoder } from "./event-stream.ts";

/** What every link over HTTP does the same, whichever client carries its bytes. */
export type HeaderRecord = Readonly<Record<string, string>>;

/** Headers for every request, or a function that gives them for each, such as one that renews a token. */
export type HeaderSource = HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>);

/** Writes a request without what travels as headers. A batch has no headers of its own, so there all stays. */
export function writeRequest(request: Request, alone: boolean): string {
  const { jsonrpc, method, params, id, timeoutMs, traceparent } = request;
  if (!alone || jsonrpc === undefined || (timeoutMs === undefined && traceparent === undefined)) {
    return requestText(request);
  }
  return requestText({ jsonrpc, method, params, id });
}

/** Gives the headers of each request. Synchronous unless the source is not, and often the same object. */
export class RequestHeaders {
  readonly #base: HeaderRecord;
  /** Those of a payload of which only replies are wanted, in the first type that is accepted. */
  readonly #plain: HeaderRecord;
  readonly #source: (() => HeaderRecord | Promise<HeaderRecord>) | undefined;

  constructor(accept: string, source: HeaderSource | undefined) {
    this.#source = typeof source === "function" ? source : undefined;
    const own = { "content-type": "application/json", accept };
    this.#base = typeof source === "object" ? merged(own, source) : own;
    this.#plain = { ...this.#base, accept: accept.replace(/,.*/, "") };
  }

  /** The headers of a request, signed where there is a signer. */
  signed(
    signer: HttpSigner | undefined,
    url: string,
    body: string,
    payload: Payload,
  ): HeaderRecord | Promise<HeaderRecord> {
    const own = this.of(payload);
    if (signer === undefined) return own;
    const sign = async (headers: HeaderRecord | Promise<HeaderRecord>): Promise<HeaderRecord> =>
      signer.sign({ method: "POST", url, headers: await headers, body });
    return sign(own);
  }

  of(payload: Payload): HeaderRecord | Promise<HeaderRecord> {
    const given = this.#source?.();
    return given instanceof Promise
      ? given.then((headers) => this.#with(headers, payload))
      : this.#with(given, payload);
  }

  #with(given: HeaderRecord | undefined, payload: Payload): HeaderRecord {
    const { headers } = payload;
    const carried = payload.requests.length === 1 ? carriedBy(payload.requests[0]) : undefined;
    const own = payload.awaited ? this.#plain : this.#base;
    if (given === undefined && headers === undefined && carried === undefined) return own;
    return merged(own, carried, given, headers);
  }
}

/** What a request says in headers rather than in its envelope. */
export function carriedBy(request: Request | undefined): HeaderRecord | undefined {
  if (request === undefined) return undefined;
  const { timeoutMs, traceparent, tracestate } = request;
  if (timeoutMs === undefined && traceparent === undefined) return undefined;
  return {
    ...(timeoutMs === undefined ? undefined : { "timeout-ms": `${Math.ceil(timeoutMs)}` }),
    ...(traceparent === undefined ? undefined : { traceparent }),
    ...(traceparent === undefined || tracestate === undefined ? undefined : { tracestate }),
  };
}

/** Later ones win, however they write a name. */
function merged(...records: readonly (HeaderRecord | undefined)[]): HeaderRecord {
  const all: Record<string, string> = {};
  for (const record of records) {
    if (record === undefined) continue;
    for (const [name, value] of Object.entries(record)) all[name.toLowerCase()] = value;
  }
  return all;
}

export function isEventStream(contentType: string | null | undefined): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(contentType ?? "");
}

/** A whole body, or undefined when it is longer than that: a body without end must not fill memory. */
export async function readBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  let bytes = new Uint8Array(0);
  let length = 0;
  for await (const chunk of chunks) {
    const start = length;
    length += chunk.length;
    // Written so that a limit that is no number lets nothing pass.
    if (!(length <= maxBytes)) return undefined;
    // Copied, since chunks of a byte each would take a hundred times their length.
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

export function replyTooLarge(maxBytes: number): WireError {
  return badReply(`the reply is larger than ${maxBytes} bytes`);
}

/** Hands over what comes before the reply, and gives the reply; undefined when the stream ended before it. */
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

/** Events come one by one, and a signature is over a whole body. */
export function unsignedEvents(): WireError {
  return badReply("the reply came as events, which are not signed");
}

/** The text that answers, or undefined for none; throws when the status says no and the body is no JSON-RPC. */
export function replyText(status: number, text: string, payload: Payload): string | undefined {
  if (status >= 200 && status < 300) return text === "" ? undefined : text;
  if (payload.expectsReply && isReply(text)) return text;
  throw new WireError("HTTP_STATUS", `the server answered with the status ${status}`, { status });
}

function isReply(text: string): boolean {
  try {
    const payload: unknown = JSON.parse(text);
    const [first] = Array.isArray(payload) ? payload : [payload];
    return isEnvelope(first) && replyOf(first) !== undefined;
  } catch {
    return false;
  }
}

/** Codes of a connection that was never made, so that the call cannot have run; a record is broken when it was. */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket|EPROTO)$|CERT|LEAF|^ERR_(TLS|SSL(?!.*RECORD))/;

/** What a failure of fetch or of a socket means for a call. */
export function wireErrorOf(thrown: unknown): WireError {
  if (thrown instanceof WireError) return thrown;
  const outer = (thrown ?? {}) as { cause?: unknown; message?: string; code?: unknown };
  // What fetch throws says little; why it failed is the cause.
  const inner = (outer.cause ?? outer) as {
    name?: string;
    message?: string;
    code?: unknown;
    syscall?: string;
  };
  const why = inner.message || outer.message || "unknown reason";
  const name = `${inner.code ?? outer.code}`;
  if (inner.name === "HTTPParserError") {
    return badReply("what came back is not HTTP", { cause: thrown });
  }
  // Browsers do not say what went wrong; the call may have run, so it counts as lost. Deno says it in words.
  // Node names what failed first: where that is to connect, nothing was sent, whatever it ended with.
  const unsent = neverConnected.test(name) || /(^|\()connect\W|connection refused/i.test(why);
  // A host may be gone while its answer is read.
  return unsent && inner.syscall !== "read"
    ? new WireError("CONNECTION_FAILED", `no connection to the server: ${why}`, { cause: thrown })
    : new WireError("CONNECTION_LOST", `the connection broke: ${why}`, { cause: thrown });
}

/** The stream of events ended and the reply was not among them. */
export function endedEarly(): WireError {
  return new WireError("CONNECTION_LOST", "the event stream ended before the reply");
}

/** The chunks of a body as `fetch` gives it; leaving the loop lets go of the connection. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  // Not every browser iterates over streams.
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
