import type { ConnectionOptions } from "node:tls";
import { buildConnector, type Dispatcher, Pool } from "undici";
import { type PendingBytes, pendingAfter } from "../../framing/pending-bytes.ts";
import { decodeUtf8 } from "../../framing/utf8.ts";
import {
  endedEarly,
  type HeaderRecord,
  isEventStream,
  RequestHeaders,
  replyText,
  unsignedEvents,
  uploadHeaders,
  wireErrorOf,
  writeRequest,
} from "../../http/client-exchange.ts";
import { compressedFromLength, type SentBody } from "../../http/content-coding.ts";
import { EventStreamDecoder, replyTooLarge } from "../../http/event-stream.ts";
import { attachedTo, multipartBody } from "../../http/multipart-body.ts";
import { boundaryOf, MultipartReader } from "../../http/multipart-reader.ts";
import { counted, messageOf } from "../../http/multipart-request.ts";
import { compress, nodeCodings } from "../../http/node-codings.ts";
import { renewing } from "../../http/renewed-exchange.ts";
import { linesHeaders, uploadLines, uploadOf } from "../../http/upload-lines.ts";
import type { Attachments } from "../../protocol/attachments.ts";
import { systemClock, type Timer } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Exchange, exchangeLink, type Payload } from "../../protocol/exchange.ts";
import type { Link } from "../../protocol/link.ts";
import type { Request } from "../../protocol/message.ts";
import { badReply } from "../../protocol/pair.ts";
import type { HttpSigner } from "../../protocol/seal.ts";
import { absoluteAddress, httpUrl, isRelative } from "../../protocol/url.ts";
import {
  acceptEither,
  defaultMaxReplyBytes,
  httpLink as fetchLink,
  type HttpLinkOptions,
} from "./fetch-link.ts";
import { InflatingHandler } from "./inflating-handler.ts";
import { ResponseBytes } from "./response-bytes.ts";

export interface NodeHttpLinkOptions extends HttpLinkOptions {
  /** Most connections at the same time; further calls wait for a free one, and each open stream holds one. @default 256 */
  readonly connections?: number;
  /** How to verify the server, and the certificate of the client: `ca`, `cert`, `key`, … @default the roots of Node */
  readonly tls?: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "passphrase" | "pfx" | "servername" | "rejectUnauthorized"
  >;
}

/**
 * Calls over HTTP POST, with a pool of connections from undici, which takes a fraction of the time
 * of `fetch` in Node. Idle connections do not keep the process alive.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const link = httpLink("https://api.example.com/rpc", {
 *   headers: async () => ({ authorization: "Bearer d2hhdCBhIHRva2Vu" }),
 * });
 * await createClient<typeof methods>(link).api.echo("hi");
 * ```
 */
export function httpLink(url: string | URL, options: NodeHttpLinkOptions = {}): Link {
  if (options.fetch !== undefined) return fetchLink(url, options);
  const { maxReplyBytes = defaultMaxReplyBytes, signer } = options;
  let destination = isRelative(url) ? undefined : destinationOf(httpUrl(url), options);
  let closed = false;
  const headers = new RequestHeaders(acceptEither, options.headers, options.credentials);

  // The signature of a reply covers its text.
  const codings = signer?.check === undefined ? nodeCodings : ["identity"];
  const coding = options.compress ? { "accept-encoding": codings.join(", ") } : undefined;

  const dispatch = (
    body: SentBody | AsyncIterable<string> | ReadableStream<Uint8Array>,
    payload: Payload,
    own: HeaderRecord,
  ): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const call = new PoolCall(payload, maxReplyBytes, resolve, reject);
      if (signer?.check !== undefined) call.check = { reply: signer.check, sent: own };
      const { pool, path } = destination as Destination;
      const handler = options.compress ? new InflatingHandler(call) : call;
      // Its types leave out iterables and streams, which it takes as any other request of undici does.
      const sent = body as SentBody;
      pool.dispatch({ path, method: "POST", headers: own, body: sent }, handler);
    });

  const send = (
    body: SentBody,
    payload: Payload,
    { target }: Destination,
    coded: HeaderRecord | undefined,
  ): Promise<string | undefined> => {
    const own = headers.signed(signer, target, body, payload, coded);
    return own instanceof Promise
      ? own.then((given) => dispatch(body, payload, given))
      : dispatch(body, payload, own);
  };

  const upload = async (
    text: string,
    request: Request,
    attachments: Attachments,
    payload: Payload,
  ): Promise<string | undefined> => {
    const attached = attachedTo(request);
    const body = multipartBody(text, attached, attachments);
    const { contentType, length } = body;
    const own = {
      ...(await headers.of(payload)),
      ...uploadHeaders(contentType, attached.length),
      ...(length !== undefined && { "content-length": `${length}` }),
    };
    const report = payload.outgoing[0]?.options?.onUploadProgress;
    return dispatch(body.stream(counted(body, report)), payload, own);
  };

  const exchange: Exchange = (text, payload) => {
    if (destination === undefined) {
      if (closed) throw new WireError("CLOSED", "the link is closed");
      destination = destinationOf(httpUrl(absoluteAddress(url, options.baseUrl)), options);
    }
    const to = destination;
    const items = uploadOf(payload, signer);
    if (items !== undefined) {
      return Promise.resolve(headers.of(payload)).then((own) =>
        dispatch(uploadLines(text, payload, items), payload, {
          ...own,
          ...coding,
          ...linesHeaders,
        }),
      );
    }
    const [request] = payload.requests as [Request];
    if (request.attachments !== undefined) {
      return upload(text, request, request.attachments, payload);
    }
    if (coding === undefined || text.length < compressedFromLength) {
      return send(text, payload, to, coding);
    }
    const coded = { ...coding, "content-encoding": "gzip" };
    return compress(text, "gzip").then((body) => send(body, payload, to, coded));
  };

  return exchangeLink(renewing(exchange, options.credentials), {
    write: writeRequest,
    close: async () => {
      closed = true;
      await destination?.pool.destroy();
    },
    tap: options.tap,
    // A signature covers a text.
    carriesBytes: signer === undefined,
  });
}

/** Where the calls of a link go. */
interface Destination {
  readonly target: string;
  readonly path: string;
  readonly pool: Pool;
}

function destinationOf(url: URL, options: NodeHttpLinkOptions): Destination {
  const { origin, pathname, search } = url;
  const path = pathname + search;
  const pool = new Pool(origin, {
    connections: options.connections ?? 256,
    // The caller decides how long to wait for a reply.
    headersTimeout: 0,
    connect: closingOnErrors(buildConnector({ ...options.tls })),
  });
  return { target: origin + path, path, pool };
}

/** How long an event stream may take to end after the reply before its connection is closed. */
const endMs = 1_000;

/** Closes a socket after a bad TLS record: Node emits an error and leaves it open, so that the call would wait for ever. */
function closingOnErrors(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      const [, socket] = outcome;
      socket?.on("error", () => socket.destroy());
      callback(...outcome);
    });
}

/** Receives one response from the pool: JSON, or events of which the reply is the last. */
class PoolCall implements Dispatcher.DispatchHandler {
  readonly #payload: Payload;
  readonly #maxBytes: number;
  readonly #resolve: (text: string | undefined) => void;
  readonly #reject: (error: unknown) => void;
  #started = false;
  #status = 0;
  #first: Buffer | undefined;
  #all: PendingBytes | undefined;
  #length = 0;
  #events: EventStreamDecoder | undefined;
  /** Set if bytes come beside the reply. */
  #parts: ResponseBytes | undefined;
  readonly #waiting: string[] = [];
  #busy = false;
  /** Runs after the reply. */
  #end: Timer | undefined;
  #header: ((name: string) => string | undefined) | undefined;
  /** Checks the signature of the reply; `sent` are the headers of the request. */
  check:
    | { readonly reply: NonNullable<HttpSigner["check"]>; readonly sent: HeaderRecord }
    | undefined;

  constructor(
    payload: Payload,
    maxBytes: number,
    resolve: (text: string | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.#payload = payload;
    this.#maxBytes = maxBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#started = true;
    const cancel = (): void => controller.abort(new WireError("ABORTED", "the call was cancelled"));
    if (this.#payload.cancelled) cancel();
    else this.#payload.onCancel = cancel;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#payload.refused ||= status === 401;
    const type = headers["content-type"];
    if (this.check !== undefined) {
      this.#header = (name) => {
        const value = headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      };
    }
    const boundary = typeof type === "string" ? boundaryOf(type) : undefined;
    if (boundary !== undefined) {
      this.#parts = new ResponseBytes(controller);
      const reader = new MultipartReader(this.#parts, boundary);
      messageOf(reader, this.#maxBytes, this.#payload).then(this.#resolve, this.#reject);
    } else if (typeof type === "string" && isEventStream(type)) {
      if (this.check !== undefined) throw unsignedEvents();
      this.#events = new EventStreamDecoder(this.#maxBytes);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#end !== undefined) return;
    if (this.#parts !== undefined) {
      this.#parts.push(chunk);
      return;
    }
    if (this.#events !== undefined) {
      this.#events.push(chunk, ({ data }) => this.#waiting.push(data));
      this.#handOver(controller);
      return;
    }
    this.#length += chunk.length;
    if (!(this.#length <= this.#maxBytes)) throw replyTooLarge(this.#maxBytes);
    if (this.#first === undefined) this.#first = chunk;
    else {
      this.#all ??= pendingAfter(this.#first);
      this.#all.append(chunk, 0, chunk.length);
    }
  }

  onResponseEnd(): void {
    this.#end?.cancel();
    if (this.#parts !== undefined) {
      this.#parts.end();
      return;
    }
    if (this.#events !== undefined) {
      if (this.#payload.expectsReply) this.#reject(endedEarly());
      else this.#resolve(undefined);
      return;
    }
    const first = this.#first;
    const only = first === undefined ? "" : decodeUtf8(first, 0, first.length);
    const text = this.#all === undefined ? only : this.#all.takeText();
    if (text === undefined) throw badReply("the reply is not UTF-8");
    if (this.check === undefined) this.#resolve(replyText(this.#status, text, this.#payload));
    else void this.#checked(text, this.check).then(this.#resolve, this.#reject);
  }

  async #checked(
    body: string,
    { reply, sent }: NonNullable<PoolCall["check"]>,
  ): Promise<string | undefined> {
    const header = this.#header ?? (() => undefined);
    await reply({ status: this.#status, header, body }, sent);
    return replyText(this.#status, body, this.#payload);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end?.cancel();
    this.#parts?.end(afterStart(error, undefined));
    const { code } = error as { code?: unknown };
    // An invalid header is a mistake of the program, not of the connection.
    if (code === "UND_ERR_INVALID_ARG") this.#reject(error);
    else this.#reject(this.#started ? afterStart(error, code) : beforeStart(error));
  }

  /** The reply is the last event; a stream that does not end after it must not hold its connection. */
  #answer(reply: string, controller: Dispatcher.DispatchController): void {
    this.#resolve(reply);
    this.#waiting.length = 0;
    const left = (): void => controller.abort(new WireError("ABORTED", "the call was answered"));
    this.#end = systemClock.after(endMs, left);
  }

  /** A busy consumer pauses the connection, and so the producer. */
  #handOver(controller: Dispatcher.DispatchController): void {
    while (!this.#busy) {
      const data = this.#waiting.shift();
      if (data === undefined) break;
      const taken = this.#payload.receive(data);
      if (taken === false) this.#answer(data, controller);
      else if (taken !== true) {
        this.#busy = true;
        controller.pause();
        void taken.then(() => {
          this.#busy = false;
          this.#handOver(controller);
          if (!this.#busy) controller.resume();
        });
      }
    }
  }
}

function beforeStart(error: Error): WireError {
  if (error instanceof WireError) return error;
  const sentence = `no connection to the server: ${error.message}`;
  return new WireError("CONNECTION_FAILED", sentence, { cause: error });
}

/** A call that was sent may have run, unless the server refused the client's certificate, which TLS 1.3 reports late. */
function afterStart(error: Error, code: unknown): WireError {
  const failure = wireErrorOf(error);
  if (failure.code !== "CONNECTION_FAILED" || /CERT|UNKNOWN_CA/.test(`${code}`)) return failure;
  return new WireError("CONNECTION_LOST", `the connection broke: ${error.message}`, {
    cause: error,
  });
}
