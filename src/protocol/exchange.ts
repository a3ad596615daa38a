import { WireError } from "./errors.ts";
import type { Link, Outgoing } from "./link.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { Reply, Request } from "./message.ts";
import { badReply, pairBatch, pairOne } from "./pair.ts";
import { type Envelope, isEnvelope } from "./parse.ts";
import { parsed } from "./parsed.ts";
import { requestText } from "./serialize.ts";
import { harmless, type Tap } from "./tap.ts";

/** One payload on its way, for the exchange that carries it. */
export class Payload implements Linked<Payload> {
  prev: Payload | undefined = undefined;
  next: Payload | undefined = undefined;
  readonly requests: readonly Request[];
  /** Set by the link: ends the payload with this error. */
  fail: ((error: WireError) => void) | undefined = undefined;
  /** Set by the exchange: stops it, because nobody waits for the reply any more. Named first, as `cancel` of a call. */
  onCancel: (() => void) | undefined = undefined;
  readonly #outgoing: readonly Outgoing[];
  readonly #tap: Tap | undefined;
  #cancelled = false;
  #controller: AbortController | undefined;

  constructor(requests: readonly Request[], outgoing: readonly Outgoing[], tap?: Tap) {
    this.requests = requests;
    this.#outgoing = outgoing;
    this.#tap = tap;
  }

  /** False when there are only notifications, which nobody answers. */
  get expectsReply(): boolean {
    return this.requests.some(({ id }) => id !== undefined);
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** The same as `onCancel`, for exchanges that take a signal; made when it is first read. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** What the callers want sent as headers, where the wire has some. */
  get headers(): Readonly<Record<string, string>> | undefined {
    if (this.#outgoing.length === 1) return this.#outgoing[0]?.headers;
    return Object.assign({}, ...this.#outgoing.map(({ headers }) => headers));
  }

  /** Whether all of it may run twice. */
  get idempotent(): boolean {
    return this.#outgoing.every(({ idempotent }) => idempotent);
  }

  /** Whether it is a batch of which nothing but the replies is wanted. */
  get awaited(): boolean {
    return this.#outgoing.length > 1 && this.#outgoing.every(({ awaited }) => awaited);
  }

  /** The payload is sent again; what came in between is lost. */
  gap(): void {
    for (const outgoing of this.#outgoing) outgoing.gap();
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#controller?.abort();
    this.onCancel?.();
  }

  /**
   * Takes a message that may have come before the reply: an item of a stream or a report of
   * progress. False when it is none of that, and so the reply; a promise asks to wait before
   * more is read.
   */
  receive(text: string): boolean | Promise<void> {
    if (this.#cancelled) return true;
    // Looking for the word first saves parsing every reply twice.
    if (!text.includes('"method"')) return false;
    const message = parsed(text);
    if (!isEnvelope(message) || typeof message.method !== "string") return false;
    const taken = this.take(message, text, noCredit);
    return taken === false ? true : taken;
  }

  /** The same for a message that was parsed. False when it is about no call of this payload. */
  take(
    message: Envelope,
    text: string,
    give: (id: unknown, count: number) => void,
  ): boolean | Promise<void> {
    this.#tap?.(text, "received");
    const { id, token, value } = (isEnvelope(message.params) ? message.params : {}) as {
      id?: unknown;
      token?: unknown;
      value?: unknown;
    };
    if (message.method === "$/stream") {
      return this.#of(id)?.item(value, (count) => give(id, count)) ?? true;
    }
    if (message.method !== "$/progress") return false;
    this.#of(token)?.progress(value);
    return true;
  }

  /** The other end reported how far the first call is, in the words of another protocol. */
  progress(value: unknown): void {
    if (!this.#cancelled) this.#outgoing[0]?.progress(value);
  }

  #of(id: unknown): Outgoing | undefined {
    // What comes on the way of a single call can belong to no other.
    if (this.#outgoing.length === 1) return this.#outgoing[0];
    return this.#outgoing[this.requests.findIndex((request) => request.id === id)];
  }
}

/** A wire that answers each payload on its own has no way to speak of credit; it stops reading instead. */
function noCredit(): void {}

/** Carries the text of one payload and brings back the text that answered it, or undefined for none. */
export type Exchange = (text: string, payload: Payload) => Promise<string | undefined>;

export interface ExchangeLinkOptions {
  /** Writes a request in place of the usual way; `alone` is false within a batch. */
  readonly write?: (request: Request, alone: boolean) => string;
  /** Lets go of what the exchange holds. */
  readonly close?: () => unknown;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
}

/**
 * Makes a link of any wire that answers a text with a text:
 * `exchangeLink(async (text) => (await fetch(url, { method: "POST", body: text })).text())`.
 * @example
 * ```ts
 * import { createClient, exchangeLink } from "callwire";
 *
 * const link = exchangeLink(async (text) => {
 *   const response = await fetch("https://example.com/rpc", { method: "POST", body: text });
 *   return response.text();
 * });
 * await createClient(link).call("echo", ["hi"]);
 * ```
 */
export function exchangeLink(exchange: Exchange, options: ExchangeLinkOptions = {}): Link {
  return new ExchangeLink(exchange, options);
}

interface Waiting {
  readonly resolve: (reply: Reply | undefined) => void;
  readonly reject: (error: unknown) => void;
}

class ExchangeLink implements Link {
  readonly #exchange: Exchange;
  readonly #write: (request: Request, alone: boolean) => string;
  readonly #release: (() => unknown) | undefined;
  readonly #tap: Tap | undefined;
  readonly #open = new LinkedList<Payload>();
  #closed = false;

  constructor(exchange: Exchange, options: ExchangeLinkOptions) {
    this.#exchange = exchange;
    this.#write = options.write ?? requestText;
    this.#release = options.close;
    this.#tap = options.tap === undefined ? undefined : harmless(options.tap);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      const write = (): string => this.#write(request, true);
      const settle = (text: string | undefined): void => {
        resolve(request.id === undefined ? undefined : pairOne(request.id, payloadOf(text)));
      };
      this.#carry(
        new Payload([request], [outgoing], this.#tap),
        [outgoing],
        [{ resolve, reject }],
        write,
        settle,
      );
    });
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    const waiting: Waiting[] = [];
    const replies = requests.map(
      () => new Promise<Reply | undefined>((resolve, reject) => waiting.push({ resolve, reject })),
    );
    const payload = new Payload(requests, outgoing, this.#tap);
    const write = (): string =>
      `[${requests.map((request) => this.#write(request, false)).join(",")}]`;
    const settle = (text: string | undefined): void => {
      const paired = payload.expectsReply ? pairBatch(requests, payloadOf(text)) : [];
      waiting.forEach(({ resolve, reject }, i) => {
        const reply = paired[i];
        if (reply instanceof WireError) reject(reply);
        else resolve(reply);
      });
    };
    this.#carry(payload, outgoing, waiting, write, settle);
    return replies;
  }

  /** What is open fails with `CLOSED`. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const payload of this.#open.list()) payload.fail?.(closedError());
    await this.#release?.();
  }

  #carry(
    payload: Payload,
    outgoing: readonly Outgoing[],
    waiting: readonly Waiting[],
    write: () => string,
    settle: (text: string | undefined) => void,
  ): void {
    let left = waiting.length;
    const over = (): void => {
      this.#open.remove(payload);
      for (const each of outgoing) each.cancel = undefined;
    };
    const fail = (error: unknown): void => {
      over();
      for (const { reject } of waiting) reject(error);
      payload.cancel();
    };
    try {
      if (this.#closed) throw closedError();
      const text = write();
      payload.fail = fail;
      this.#open.add(payload);
      outgoing.forEach((each, i) => {
        const cancel = (error: WireError): void => {
          each.cancel = undefined;
          waiting[i]?.reject(error);
          // The others of a batch still want their replies.
          if (--left === 0) fail(error);
        };
        each.cancel = cancel;
      });
      this.#tap?.(text, "sent");
      this.#exchange(text, payload).then((reply) => {
        over();
        if (reply !== undefined) this.#tap?.(reply, "received");
        try {
          settle(reply);
        } catch (error) {
          fail(error);
        }
      }, fail);
    } catch (error) {
      fail(error);
    }
  }
}

function payloadOf(text: string | undefined): unknown {
  if (text === undefined) throw badReply("there was no reply");
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badReply("the reply is not JSON", { cause });
  }
}

function closedError(): WireError {
  return new WireError("CLOSED", "the link is closed");
}
