import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { type PendingBytes, pendingAfter } from "../framing/pending-bytes.ts";
import { decodeUtf8 } from "../framing/utf8.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Buffering, WireBuffers } from "../protocol/wire-buffers.ts";

/** Bodies shorter than this are not counted: even a thousand of them take little memory. */
const countedFromBytes = 16 * 1024;

/** Why a body is not collected to its end. */
export type BodyFault = "too-large" | "overload";

export interface BodyLimits {
  readonly maxMessageBytes: number;
  /** Counts what is collected; too much of it in all connections ends in the fault "overload". */
  readonly buffers: WireBuffers;
}

/**
 * Collects a body up to a limit, or takes what a body parser made of it. The text is undefined if
 * the bytes are not UTF-8; `isExact` says that the text is exactly what was sent.
 */
export function readBody(
  incoming: IncomingMessage,
  limits: BodyLimits,
  found: (text: string | undefined, isExact: boolean) => void,
  failed: (fault: BodyFault) => void,
): void {
  const request = incoming as IncomingMessage & { body?: unknown; _body?: boolean };
  if (request._body === true || request.readableEnded) {
    const { body } = request;
    found(textOf(body), body instanceof Uint8Array || typeof body === "string");
  } else new ArrivingBody(request, limits, found, failed);
}

/** A body of which more may come. */
class ArrivingBody implements Buffering {
  bufferedBytes = 0;
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #failed: (fault: BodyFault) => void;
  readonly #collect: (chunk: Buffer) => void;
  readonly #finish: () => void;
  #first: Buffer | undefined = undefined;
  #all: PendingBytes | undefined = undefined;
  #isCounted = false;

  constructor(
    request: IncomingMessage,
    limits: BodyLimits,
    found: (text: string | undefined, isExact: boolean) => void,
    failed: (fault: BodyFault) => void,
  ) {
    this.#request = request;
    this.#limits = limits;
    this.#failed = failed;
    const collect = (chunk: Buffer): void => this.#add(chunk);
    const finish = (): void => {
      this.#uncount();
      found(this.#text(), true);
    };
    this.#collect = collect;
    this.#finish = finish;
    request.on("data", collect);
    request.on("end", finish);
  }

  shed(): void {
    this.#fail("overload");
  }

  #add(chunk: Buffer): void {
    this.bufferedBytes += chunk.length;
    if (this.bufferedBytes > this.#limits.maxMessageBytes) {
      this.#fail("too-large");
      return;
    }
    if (this.#first === undefined) this.#first = chunk;
    else {
      // Not kept one by one: of a byte each, they would take a hundred times their length.
      this.#all ??= pendingAfter(this.#first);
      this.#all.append(chunk, 0, chunk.length);
    }
    if (this.bufferedBytes >= countedFromBytes && !this.#request.complete) this.#count(chunk);
  }

  #count(chunk: Buffer): void {
    const { buffers } = this.#limits;
    if (!this.#isCounted) {
      this.#isCounted = true;
      buffers.opened(this);
      this.#request.once("close", () => this.#uncount());
      buffers.moved(this.bufferedBytes);
    } else buffers.moved(chunk.length);
  }

  #uncount(): void {
    if (this.#isCounted) this.#limits.buffers.closed(this);
  }

  #fail(fault: BodyFault): void {
    this.#request.off("data", this.#collect);
    this.#request.off("end", this.#finish);
    this.#uncount();
    this.#first = undefined;
    this.#all = undefined;
    this.#failed(fault);
  }

  #text(): string | undefined {
    if (this.#all !== undefined) return this.#all.takeText();
    const first = this.#first;
    return first === undefined ? "" : decodeUtf8(first, 0, first.length);
  }
}

function textOf(body: unknown): string | undefined {
  if (body instanceof Uint8Array) return decodeUtf8(body, 0, body.length);
  if (typeof body === "string") return body;
  try {
    return JSON.stringify(body) ?? "";
  } catch {
    // A parser takes any depth, and writing overflows the stack.
    return undefined;
  }
}

/** How long a client has for sending what was refused, and for reading why. */
const lingerMs = 2_000;

/**
 * Answers at once, and closes when the client has sent all or its time is up. What is too much even then is not read:
 * to close while it comes would take the answer away from a client that has not read it yet.
 */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  answer: { readonly status: number; readonly head: OutgoingHttpHeaders; readonly body: string },
  { maxMessageBytes }: { readonly maxMessageBytes: number },
  clock: Clock,
): void {
  if (response.headersSent) return;
  let left = maxMessageBytes;
  response.writeHead(answer.status, answer.head);
  response.write(answer.body);
  const close = (): void => {
    late.cancel();
    if (!response.writableEnded) response.end();
  };
  const late = clock.after(lingerMs, close);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
  request.on("end", close);
  response.on("close", close);
}
