import { channel } from "node:diagnostics_channel";
import type { Duplex } from "node:stream";
import { decodeUtf8 } from "../../framing/utf8.ts";
import { countedFromBytes } from "../body-bytes.ts";
import type { HeaderRecord } from "../client-exchange.ts";
import type { HttpMessage, MessageLimits, RequestHead } from "../http-message.ts";
import { FastHead, type PlainHead, parseHead } from "./head.ts";
import { FastMessage, type FastWire } from "./message.ts";
import type { Replies } from "./replies.ts";

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

/** How long a client may be silent, in milliseconds, by the names that Node has for it. 0 is for ever. */
export interface SilenceLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  readonly keepAliveTimeout: number;
}

/** How much longer an idle connection stays open than clients are told, so that none sends a request while it closes. */
const keepAliveMarginMs = 1_000;

/** Tools that trace Node's server expect each request here. */
const traced = channel("http.server.request.start");

/**
 * Reads plain requests from a socket, one after the other. Whatever is unusual is left to Node from its first byte on,
 * with the rest of the connection: another form, other paths, parts that arrive late, and what is sent while a call runs.
 */
export class FastConnection implements FastWire {
  readonly socket: Duplex;
  readonly #host: FastHost;
  /** The last head, and what answers its target. */
  #head: PlainHead | undefined = undefined;
  #endpoint: FastEndpoint | undefined = undefined;
  /** A request whose body has not arrived completely. */
  #partial: Buffer | undefined = undefined;
  /** The request that runs, and its bytes with all after them. */
  #message: FastMessage | undefined = undefined;
  #bytes: Buffer | undefined = undefined;
  #start = 0;
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

  /** Whether it waits for a further request, of which nothing has arrived. */
  get isIdle(): boolean {
    return this.#isUsed && this.#message === undefined && this.#partial === undefined;
  }

  reply(status: number, text: string, headers: HeaderRecord | undefined): boolean {
    const bytes = Buffer.byteLength(text);
    const head = this.#host.replies.head(status, text, bytes, headers);
    if (head === undefined) return false;
    this.#message = undefined;
    this.#bytes = undefined;
    const { socket } = this;
    if (!socket.destroyed && !socket.writableEnded) {
      socket.write(head + text, bytes === text.length ? "latin1" : "utf8");
    }
    return true;
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
    const utf8 = bytes.toString();
    // Then each byte is one character, and the text is that of all bodies too.
    const isAscii = utf8.length === bytes.length && !utf8.includes("\ufffd");
    const text = isAscii ? utf8 : bytes.toString("latin1");
    for (let at = 0; at < bytes.length; ) {
      const head = this.#headAt(bytes, text, at);
      const endpoint = this.#endpoint;
      // Unread replies are left to Node too, since it stops reading.
      if (head === undefined || endpoint === undefined || this.socket.writableNeedDrain) {
        this.#leaveWith(bytes.subarray(at));
        return;
      }
      const bodyAt = at + (this.#head as PlainHead).sizeWith(head.contentLength);
      const end = bodyAt + Number(head.contentLength);
      if (end > bytes.length) {
        if (mayWait && this.#mayWaitFor(end - bodyAt, head, endpoint)) {
          this.#partial = bytes.subarray(at);
        } else this.#leaveWith(bytes.subarray(at));
        return;
      }
      const body = isAscii ? text.slice(bodyAt, end) : decodeUtf8(bytes, bodyAt, end);
      this.#run(new FastMessage(this, head, body), endpoint, bytes, at);
      if (this.#isLeft) return;
      if (this.#message !== undefined) {
        if (end < bytes.length) this.leave();
        return;
      }
      at = end;
    }
  }

  #headAt(bytes: Buffer, text: string, at: number): FastHead | undefined {
    if (traced.hasSubscribers) return undefined;
    const known = this.#head?.lengthIn(text, at);
    if (this.#head !== undefined && known !== undefined) return new FastHead(this.#head, known);
    const parsed = parseHead(bytes, text, at);
    if (parsed === undefined) return undefined;
    this.#head = parsed;
    this.#endpoint = this.#host.endpointAt(parsed.target);
    return new FastHead(parsed, parsed.get("content-length") as string);
  }

  /** A long body counts as memory, and a refusal does not wait for the body; Node's message does both. */
  #mayWaitFor(length: number, head: FastHead, { rules }: FastEndpoint): boolean {
    return length < countedFromBytes && rules.route(head, head.target).kind === "read";
  }

  #run(message: FastMessage, endpoint: FastEndpoint, bytes: Buffer, start: number): void {
    this.#isUsed = true;
    this.#message = message;
    this.#bytes = bytes;
    this.#start = start;
    endpoint.handle(message);
  }

  #leaveWith(bytes: Buffer): void {
    const { socket } = this;
    const message = this.#message;
    this.#isLeft = true;
    this.#message = undefined;
    this.#bytes = undefined;
    this.#partial = undefined;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#host.serveByNode(this, bytes, message);
  }

  /** The client sends no more. Like Node, it does not wait for calls that run. */
  #ended(): void {
    if (this.#partial === undefined) this.socket.end();
    else this.#host.failed(this, failure("HPE_INVALID_EOF_STATE", "Parse Error"));
  }

  #closed(): void {
    this.#host.closed(this);
    this.#message?.close();
  }
}

function failure(code: string, message: string): Error & { code: string } {
  return Object.assign(new Error(message), { code });
}
