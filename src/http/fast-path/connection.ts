import { AsyncResource } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import type { Duplex } from "node:stream";
import { decodeUtf8 } from "../../framing/utf8.ts";
import { countedFromBytes } from "../body-bytes.ts";
import type { HeaderRecord } from "../client-exchange.ts";
import type { HttpMessage, MessageLimits, RequestHead } from "../http-message.ts";
import { FastHead, type PlainHead, parseHead } from "./head.ts";
import { FastMessage, type FastWire } from "./message.ts";
import type { Outbox, Replies, Sender } from "./replies.ts";

/** What answers the requests to one path. */
export interface FastEndpoint {
  readonly rules: {
    readonly limits: MessageLimits;
    route(head: RequestHead, url: string): { readonly kind: string };
  };
  handle(message: HttpMessage): void;
}

/** The server of a connection. */
export interface FastHost {
  readonly replies: Replies;
  readonly outbox: Outbox;
  /** What answers requests to this target; undefined if Node has to. */
  endpointAt(target: string): FastEndpoint | undefined;
  /**
   * Gives the connection to Node, which reads these bytes first. They begin with the request of the message, if one
   * runs, so that Node makes a response for it.
   */
  serveByNode(connection: FastConnection, bytes: Buffer, message: FastMessage | undefined): void;
  /** The client broke off or took too long. */
  failed(connection: FastConnection, error: Error & { code?: string }): void;
  closed(connection: FastConnection): void;
}

/** How long a client may be silent, in milliseconds, by Node's names for these limits. 0 means no limit. */
export interface SilenceLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly keepAliveTimeout: number;
}

/** More unsent replies than this are sent before the next request is read, so that a client has to read them. */
const mostUnsent = 16 * 1024;

/** How much longer an idle connection stays open than its Keep-Alive header says, so that no client sends a request while it closes. */
const keepAliveMarginMs = 1_000;

/** It holds nothing that has to be released. */
const ownScope = { requireManualDestroy: true };

/** Tools that trace Node's server expect each request here. */
const traced = channel("http.server.request.start");

/**
 * Reads plain requests from a socket, one after the other. Whatever is unusual is left to Node from its first byte on,
 * with the rest of the connection: another form, other paths, parts that arrive late, and what is sent while a call runs.
 */
export class FastConnection implements FastWire, Sender {
  readonly socket: Duplex;
  readonly #host: FastHost;
  /** The last head, and what answers its target. */
  #head: PlainHead | undefined = undefined;
  #endpoint: FastEndpoint | undefined = undefined;
  /** A request whose body has not arrived completely. */
  #partial: Buffer | undefined = undefined;
  /** The running request, its bytes, and all that arrived after them. */
  #message: FastMessage | undefined = undefined;
  #bytes: Buffer | undefined = undefined;
  #start = 0;
  /** Replies for the end of this turn of the event loop. */
  #unsent = "";
  #isAscii = true;
  #isLeft = false;
  /** When silence was first noticed. */
  #silentSince: number | undefined = undefined;
  #isUsed = false;
  readonly #onData = (chunk: Buffer): void => this.#received(chunk);
  readonly #onEnd = (): void => this.#ended();
  readonly #onError = (error: Error): void => this.#host.failed(this, error);
  readonly #onClose = (): void => this.#closed();

  constructor(socket: Duplex, host: FastHost) {
    this.socket = socket;
    this.#host = host;
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  /** Whether it waits for its next request, and nothing of that has arrived. */
  get isIdle(): boolean {
    const isWaiting = this.#message === undefined && this.#partial === undefined;
    return this.#isUsed && isWaiting && this.#unsent === "";
  }

  reply(status: number, text: string, headers: HeaderRecord | undefined): boolean {
    const bytes = Buffer.byteLength(text);
    const head = this.#host.replies.head(status, text, bytes, headers);
    if (head === undefined) return false;
    this.#message = undefined;
    this.#bytes = undefined;
    if (this.#unsent === "") this.#host.outbox.add(this);
    if (bytes !== text.length) this.#isAscii = false;
    this.#unsent += head + text;
    return true;
  }

  sendReplies(): void {
    const text = this.#unsent;
    const { socket } = this;
    if (text === "") return;
    this.#unsent = "";
    if (!socket.destroyed && !socket.writableEnded) {
      socket.write(text, this.#isAscii ? "latin1" : "utf8");
    }
    this.#isAscii = true;
  }

  leave(): void {
    const bytes = this.#bytes?.subarray(this.#start) ?? this.#partial ?? Buffer.alloc(0);
    this.#leaveWith(bytes);
  }

  /** Ends the connection if its client was silent for too long. Called at intervals, so that a request needs no timer. */
  checkSilence(now: number, limits: SilenceLimits): void {
    if (this.#message !== undefined) return;
    this.#silentSince ??= now;
    const silentMs = now - this.#silentSince;
    const { headersTimeout, requestTimeout, keepAliveTimeout } = limits;
    if (this.isIdle) {
      const isOver = keepAliveTimeout > 0 && silentMs >= keepAliveTimeout + keepAliveMarginMs;
      if (isOver) this.socket.destroy();
      return;
    }
    const mostMs = this.#partial === undefined ? headersTimeout : requestTimeout;
    if (mostMs > 0 && silentMs >= mostMs) {
      this.#host.failed(this, failure("ERR_HTTP_REQUEST_TIMEOUT", "Request timeout"));
    }
  }

  #received(chunk: Buffer): void {
    // It was refused, because it took too long.
    if (this.socket.writableEnded) return;
    this.#silentSince = undefined;
    const partial = this.#partial;
    if (this.#message !== undefined) {
      const running = this.#bytes?.subarray(this.#start) ?? Buffer.alloc(0);
      this.#leaveWith(Buffer.concat([running, chunk]));
    } else if (partial === undefined) this.#read(chunk, true);
    else {
      this.#partial = undefined;
      this.#read(Buffer.concat([partial, chunk]), false);
    }
  }

  /** Handles all requests in these bytes; the last one may wait for the rest of its body if `mayWait`. */
  #read(bytes: Buffer, mayWait: boolean): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#unsent.length > mostUnsent) this.sendReplies();
      const head = this.#headAt(bytes, at);
      const endpoint = this.#endpoint;
      // Unread replies are left to Node too, since it stops reading.
      if (head === undefined || endpoint === undefined || this.socket.writableNeedDrain) {
        this.#leaveWith(bytes.subarray(at));
        return;
      }
      const bodyAt = at + (this.#head as PlainHead).template.sizeWith(head.contentLength);
      const end = bodyAt + Number(head.contentLength);
      if (end > bytes.length) {
        if (mayWait && this.#mayWaitFor(end - bodyAt, head, endpoint)) {
          this.#partial = bytes.subarray(at);
        } else this.#leaveWith(bytes.subarray(at));
        return;
      }
      this.#run(head, bodyText(bytes, bodyAt, end), endpoint, bytes, at);
      if (this.#isLeft) return;
      if (this.#message !== undefined) {
        if (end < bytes.length) this.leave();
        return;
      }
      at = end;
    }
  }

  #headAt(bytes: Buffer, at: number): FastHead | undefined {
    if (traced.hasSubscribers) return undefined;
    const known = this.#head?.template.lengthIn(bytes, at);
    if (this.#head !== undefined && known !== undefined) return new FastHead(this.#head, known);
    const parsed = parseHead(bytes, at);
    if (parsed === undefined) return undefined;
    this.#head = parsed;
    this.#endpoint = this.#host.endpointAt(parsed.target);
    return new FastHead(parsed, parsed.get("content-length") as string);
  }

  /** A long body counts as memory, and a refusal does not wait for the body; Node's message does both. */
  #mayWaitFor(length: number, head: FastHead, { rules }: FastEndpoint): boolean {
    return length < countedFromBytes && rules.route(head, head.target).kind === "read";
  }

  #run(
    head: FastHead,
    body: string | undefined,
    endpoint: FastEndpoint,
    bytes: Buffer,
    start: number,
  ): void {
    const message = new FastMessage(this, head, body);
    this.#isUsed = true;
    this.#message = message;
    this.#bytes = bytes;
    this.#start = start;
    // What a handler enters into an `AsyncLocalStorage` must not reach the next request of the connection.
    const scope = new AsyncResource("HTTPINCOMINGMESSAGE", ownScope);
    scope.runInAsyncScope(endpoint.handle, endpoint, message);
  }

  #leaveWith(bytes: Buffer): void {
    const { socket } = this;
    const message = this.#message;
    this.#isLeft = true;
    this.#message = undefined;
    this.#bytes = undefined;
    this.#partial = undefined;
    this.sendReplies();
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#host.serveByNode(this, bytes, message);
  }

  /** The client sends no more. Like Node, it does not wait for calls that run. */
  #ended(): void {
    this.sendReplies();
    if (this.#partial === undefined) this.socket.end();
    else this.#host.failed(this, failure("HPE_INVALID_EOF_STATE", "Parse Error"));
  }

  #closed(): void {
    this.#host.closed(this);
    this.#message?.close();
  }
}

/** The body, or undefined if it is not UTF-8. */
function bodyText(bytes: Buffer, start: number, end: number): string | undefined {
  const text = bytes.toString("utf8", start, end);
  // Faster than the strict decoder, but it replaces what is not UTF-8.
  return text.includes("\ufffd") ? decodeUtf8(bytes, start, end) : text;
}

function failure(code: string, message: string): Error & { code: string } {
  return Object.assign(new Error(message), { code });
}
