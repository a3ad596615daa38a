import type { Dispatcher } from "undici";
import { type PendingBytes, pendingAfter } from "../../framing/pending-bytes.ts";
import { decodeUtf8 } from "../../framing/utf8.ts";
import {
  endedEarly,
  type HeaderRecord,
  isEventStream,
  replyText,
  unsignedEvents,
  wireErrorOf,
} from "../../http/client-exchange.ts";
import { EventStreamDecoder, replyTooLarge } from "../../http/event-stream.ts";
import { boundaryOf, MultipartReader } from "../../http/multipart-reader.ts";
import { messageOf } from "../../http/streamed-bodies.ts";
import { systemClock, type Timer } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import { badReply } from "../../protocol/pair.ts";
import type { HttpSigner } from "../../protocol/seal.ts";
import { ResponseBytes } from "./response-bytes.ts";

/** How long an event stream may take to end after the reply before its connection is closed. */
const endMs = 1_000;

/** Receives one response from the pool: JSON, or events that end with the reply. */
export class PoolCall implements Dispatcher.DispatchHandler {
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
