import {
  chunksOf,
  endedEarly,
  type HeaderRecord,
  isEventStream,
  RequestHeaders,
  readEvents,
  readText,
  replyText,
  wireErrorOf,
  writeRequest,
} from "../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../http/event-stream.ts";
import type { FetchLinkOptions } from "../../http/link-options.ts";
import { renewing } from "../../http/renewed-exchange.ts";
import { type Clock, systemClock, type Timer } from "../../protocol/clock.ts";
import { defaultMaxReplyBytes } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Exchange, exchangeLink, type Payload } from "../../protocol/exchange.ts";
import type { Link } from "../../protocol/link.ts";
import { absoluteAddress, fetchAddress } from "../../protocol/url.ts";

export interface SseLinkOptions extends FetchLinkOptions {
  /** Longest event in bytes; stops memory exhaustion. @default 10 MiB */
  readonly maxReplyBytes?: number;
  /** Most attempts in a row to resume a stream without a new event. @default 5 */
  readonly maxResumes?: number;
  /**
   * How long a stream that can be resumed may be silent before it is: its connection may be dead
   * without an error. @default 40000, more than two keep-alive intervals of the server
   */
  readonly silenceMs?: number;
  /** For tests. @default the system clock */
  readonly clock?: Clock;
}

/** Least time between two attempts to resume, or a server that ends each stream would cause a flood of requests. */
const leastPauseMs = 100;

/** How long a cancelled call waits for the event id that it needs to end the stream on the server. */
const leaveMs = 1_000;

/**
 * Calls over HTTP POST whose replies arrive as events. If the connection breaks and the server sends
 * event ids, the stream is resumed after the last event that arrived.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { sseLink } from "callwire/sse";
 *
 * const client = createClient<typeof methods>(sseLink("http://127.0.0.1:8000/rpc"));
 * for await (const n of client.api.math.count({ to: 3 })) console.log(n);
 * ```
 */
export function sseLink(url: string | URL, options: SseLinkOptions = {}): Link {
  const headers = new RequestHeaders("text/event-stream", options.headers, options.credentials);
  const address = fetchAddress(url);
  const exchange: Exchange = async (text, payload) => {
    const target = absoluteAddress(address, options.baseUrl);
    const own = await headers.of(payload);
    const renew = () => headers.of(payload);
    return new EventExchange(target, own, renew, payload, options).run(text);
  };
  return exchangeLink(renewing(exchange, options.credentials), {
    address,
    write: writeRequest,
    tap: options.tap,
  });
}

/** One payload, over as many connections as it takes. */
class EventExchange {
  readonly #url: string;
  #headers: HeaderRecord;
  /** Makes the headers of a request that resumes the stream; credentials may expire while it lasts. */
  readonly #renew: () => HeaderRecord | Promise<HeaderRecord>;
  readonly #payload: Payload;
  readonly #options: SseLinkOptions;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  /** Aborts the current connection. */
  #controller = new AbortController();
  #left = false;
  /** Ends a pause, so that a cancelled call does not keep the process alive. */
  #goOn: (() => void) | undefined;
  #decoder: EventStreamDecoder;
  #retryMs = 1_000;

  constructor(
    url: string,
    headers: HeaderRecord,
    renew: () => HeaderRecord | Promise<HeaderRecord>,
    payload: Payload,
    options: SseLinkOptions,
  ) {
    this.#url = url;
    this.#headers = headers;
    this.#renew = renew;
    this.#payload = payload;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#maxBytes = options.maxReplyBytes ?? defaultMaxReplyBytes;
    this.#decoder = new EventStreamDecoder(this.#maxBytes);
    const leave = (): void => this.#leave();
    payload.onCancel = leave;
  }

  async run(text: string): Promise<string | undefined> {
    const { maxResumes = 5 } = this.#options;
    let failures = 0;
    let resumedFrom = "";
    let resumedAt = Number.NEGATIVE_INFINITY;
    let lost: WireError | undefined;
    for (let first = true; first || failures <= maxResumes; first = false) {
      // The caller may have cancelled while headers were made, or between two connections.
      if (this.#payload.cancelled) break;
      try {
        const response = first ? await this.#send("POST", {}, text) : await this.#ask(resumedFrom);
        return await this.#read(response);
      } catch (error) {
        lost = first ? wireErrorOf(error) : afterFirst(wireErrorOf(error));
      }
      const { status } = lost;
      // A final answer of the server is not retried; an error of a proxy whose server restarts is.
      if (lost.code === "BAD_REPLY" || (status !== undefined && (first || status < 500))) break;
      const { lastId } = this.#decoder;
      this.#retryMs = this.#decoder.retryMs ?? this.#retryMs;
      // A call without an event id cannot be resumed, and must not run twice.
      if (lastId === "" || this.#payload.cancelled) break;
      failures = lastId === resumedFrom ? failures + 1 : 1;
      resumedFrom = lastId;
      const soonest = resumedAt + leastPauseMs - this.#clock.elapsed();
      const asked = this.#retryMs * (failures - 1) * (0.5 + Math.random());
      await this.#pause(Math.max(soonest, asked));
      resumedAt = this.#clock.elapsed();
      this.#decoder = new EventStreamDecoder(this.#maxBytes, resumedFrom);
    }
    throw lost ?? endedEarly();
  }

  async #read(response: Response): Promise<string | undefined> {
    const chunks = chunksOf(response.body);
    if (isEventStream(response.headers.get("content-type"))) {
      this.#payload.refused = false;
      const reply = await readEvents(this.#whileHeard(chunks), this.#decoder, this.#payload);
      if (reply === undefined && this.#payload.expectsReply) throw endedEarly();
      return reply;
    }
    const text = await readText(chunks, this.#maxBytes);
    const { status } = response;
    if (this.#decoder.lastId !== "" && status === 401) throw this.#refused();
    this.#payload.refused ||= status === 401;
    // The status is about resuming, and says nothing about whether the call ran.
    if (this.#decoder.lastId !== "" && (status === 404 || status >= 500)) {
      const sentence = "the connection broke and the server can no longer resume the stream";
      throw new WireError("CONNECTION_LOST", sentence, { status });
    }
    return replyText(status, text, this.#payload);
  }

  /** The server refused the credentials of a request that resumes the stream; the call has run, and is not repeated. */
  #refused(): WireError {
    const isLast = this.#payload.refused || this.#options.credentials === undefined;
    this.#payload.refused = !isLast;
    const sentence = "the connection broke and the server refused the credentials";
    return new WireError("CONNECTION_LOST", sentence, isLast ? { status: 401 } : {});
  }

  /** Requests what came after this event. */
  async #ask(after: string): Promise<Response> {
    this.#headers = await this.#renew();
    const response = this.#send("GET", { "last-event-id": after });
    const silence = this.#watchSilence();
    return response.finally(() => silence.cancel());
  }

  #send(method: string, more: HeaderRecord, body?: string): Promise<Response> {
    const { fetch: send = (to, init) => fetch(to, init) } = this.#options;
    if (method !== "DELETE") this.#controller = new AbortController();
    return send(this.#url, {
      method,
      headers: { ...this.#headers, ...more },
      ...(body === undefined ? undefined : { body }),
      ...(method === "DELETE" ? undefined : { signal: this.#controller.signal }),
      redirect: "manual",
    });
  }

  /** The server waits for clients whose connection broke, so a cancelled call has to be ended explicitly. */
  #leave(): void {
    this.#goOn?.();
    if (this.#decoder.lastId !== "") this.#tellGone();
    // The event id may still arrive; a slow server is not waited for.
    else this.#clock.after(leaveMs, () => this.#controller.abort());
  }

  async *#whileHeard(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let silence = this.#watchSilence();
    try {
      for await (const chunk of chunks) {
        silence.cancel();
        yield chunk;
        if (this.#payload.cancelled && this.#decoder.lastId !== "") this.#tellGone();
        silence = this.#watchSilence();
      }
    } finally {
      silence.cancel();
    }
  }

  #watchSilence(): Timer {
    return this.#clock.after(this.#options.silenceMs ?? 40_000, () => {
      // A stream that cannot be resumed is better late than lost.
      if (this.#decoder.lastId === "") return;
      const sentence = "the connection broke: nothing arrived from the server for too long";
      this.#controller.abort(new WireError("CONNECTION_LOST", sentence));
    });
  }

  #tellGone(): void {
    if (this.#left) return;
    this.#left = true;
    this.#controller.abort();
    this.#send("DELETE", { "last-event-id": this.#decoder.lastId })
      .then((response) => response.body?.cancel())
      .catch(() => {});
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve, true);
      this.#goOn = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** A call whose stream has begun may have run, even if the server is unreachable now. */
function afterFirst(error: WireError): WireError {
  if (error.code !== "CONNECTION_FAILED") return error;
  const sentence = `the connection broke and could not be reopened: ${error.message}`;
  return new WireError("CONNECTION_LOST", sentence, { cause: error });
}
