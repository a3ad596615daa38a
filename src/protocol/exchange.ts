import type { Attachments } from "./attachments.ts";
import { type Envelope, isEnvelope, membersOf } from "./envelope.ts";
import { WireError } from "./errors.ts";
import { parseJson } from "./json-text.ts";
import type { Link, Outgoing } from "./link.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { Reply, Request, TypedPaths } from "./message.ts";
import { badReply, pairBatch, pairOne } from "./pair.ts";
import { requestText } from "./serialize.ts";
import { safeTap, type Tap } from "./tap.ts";

/** One payload in flight, for the exchange that carries it. */
export class Payload implements Linked<Payload> {
  prev: Payload | undefined = undefined;
  next: Payload | undefined = undefined;
  readonly requests: readonly Request[];
  /** Set by the link: fails the payload. */
  fail: ((error: WireError) => void) | undefined = undefined;
  /**
   * Set by the exchange: aborts it, because the caller cancelled. Assign a named function, as for `cancel` of
   * `Outgoing`.
   */
  onCancel: (() => void) | undefined = undefined;
  /** Set by the exchange: the bytes beside the reply. */
  attachments: Attachments | undefined = undefined;
  /** Set by the exchange: whether the server refused the credentials, so that nothing ran. */
  refused = false;
  /** Set when the callers have cancelled. */
  cancelled = false;
  /** The caller's side of each request. */
  readonly outgoing: readonly Outgoing[];
  readonly tap: Tap | undefined;
  #controller: AbortController | undefined;

  constructor(requests: readonly Request[], outgoing: readonly Outgoing[], tap?: Tap) {
    this.requests = requests;
    this.outgoing = outgoing;
    this.tap = tap;
  }

  /** False if there are only notifications, which are not answered. */
  get expectsReply(): boolean {
    return this.requests.some(({ id }) => id !== undefined);
  }

  /** The same as `onCancel`, for exchanges that take a signal; created when first read. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Headers that the callers set, for wires that have headers. */
  get headers(): Readonly<Record<string, string>> | undefined {
    if (this.outgoing.length === 1) return this.outgoing[0]?.headers;
    return Object.assign({}, ...this.outgoing.map(({ headers }) => headers));
  }

  /** Whether it is a batch whose callers only need the replies. */
  get awaited(): boolean {
    return this.outgoing.length > 1 && this.outgoing.every(({ awaited }) => awaited);
  }

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#controller?.abort();
    this.onCancel?.();
  }

  /**
   * Takes a message that came before the reply: an item of a stream or a progress report. False if it is the reply; a
   * promise asks to wait before reading more.
   */
  receive(text: string): boolean | Promise<void> {
    if (this.cancelled) return true;
    // Searching for the word first avoids parsing every reply twice.
    if (!text.includes('"method"')) return false;
    const message = parseJson(text);
    if (!isEnvelope(message) || typeof message.method !== "string") return false;
    const taken = this.take(message, text, noCredit);
    return taken === false ? true : taken;
  }

  /** The same for a parsed message. False if it does not belong to a call of this payload. */
  take(
    message: Envelope,
    text: string,
    give: (id: unknown, count: number) => void,
  ): boolean | Promise<void> {
    this.tap?.(text, "received");
    const { id, token, value, types } = membersOf(message.params) as {
      id?: unknown;
      token?: unknown;
      value?: unknown;
      types?: TypedPaths;
    };
    if (message.method === "$/stream") {
      return this.#of(id)?.item(value, (count) => give(id, count), types) ?? true;
    }
    if (message.method !== "$/progress") return false;
    this.#of(token)?.progress(value, types);
    return true;
  }

  #of(id: unknown): Outgoing | undefined {
    // A message that comes before a single reply can only belong to that call.
    if (this.outgoing.length === 1) return this.outgoing[0];
    return this.outgoing[this.requests.findIndex((request) => request.id === id)];
  }
}

/** Without a duplex wire no credit can be sent; the exchange stops reading instead. */
function noCredit(): void {}

/** Sends one payload and resolves with the reply, or with undefined for none. */
export type Exchange = (text: string, payload: Payload) => Promise<string | undefined>;

export interface ExchangeLinkOptions {
  /** Serializes a request instead of the default; `alone` is false within a batch. */
  readonly write?: (request: Request, alone: boolean) => string;
  /** Releases the resources of the exchange. */
  readonly close?: () => unknown;
  /** Observes every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** The URL that it leads to, for traces. */
  readonly address?: string | undefined;
  /** Whether the exchange sends the attachments of a request, and sets those of the reply. @default false */
  readonly carriesBytes?: boolean;
}

/**
 * Makes a link of any wire that answers a string with a string: `exchangeLink(async (text) => (await fetch(url, {
 * method: "POST", body: text })).text())`.
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
  readonly address: string | undefined;
  readonly carriesBytes: boolean;
  #closed = false;

  constructor(exchange: Exchange, options: ExchangeLinkOptions) {
    this.#exchange = exchange;
    this.address = options.address;
    this.carriesBytes = options.carriesBytes === true;
    this.#write = options.write ?? requestText;
    this.#release = options.close;
    this.#tap = options.tap === undefined ? undefined : safeTap(options.tap);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      const write = (): string => this.#write(request, true);
      const payload = new Payload([request], [outgoing], this.#tap);
      const settle = (text: string | undefined): void => {
        const { attachments } = payload;
        const reply = request.id === undefined ? undefined : pairOne(request.id, payloadOf(text));
        resolve(reply && attachments ? { ...reply, attachments } : reply);
      };
      this.#carry(payload, [outgoing], [{ resolve, reject }], write, settle);
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

  /** Open calls fail with `CLOSED`. */
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
          // The other calls of the batch still wait for their replies.
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
