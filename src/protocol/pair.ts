import { WireError } from "./errors.ts";
import type { Link, Outgoing } from "./link.ts";
import { type ErrorObject, failure, type Id, type Reply, type Request, success } from "./message.ts";
import { type Envelope, isEnvelope } from "./parse.ts";
import { requestText } from "./serialize.ts";

/** What a response says, in either version of the protocol; undefined when it is no response. */
export function replyOf(message: Envelope): Reply | undefined {
  const { jsonrpc, result, error } = message as Envelope & { result?: unknown; error?: unknown };
  if (jsonrpc !== undefined && jsonrpc !== "2.0") return undefined;
  // A 1.0 response has both members, and null stands for the one that does not apply.
  if (error === undefined || error === null) {
    return result === undefined ? undefined : success(result);
  }
  if (isErrorObject(error)) return failure(error);
  if (jsonrpc !== undefined) return undefined;
  // 1.0 does not say what an error looks like.
  const text = typeof error === "string" ? error : "Error";
  return failure({ code: -32000, message: text, data: error });
}

function isErrorObject(value: unknown): value is ErrorObject {
  return (
    isEnvelope(value) &&
    Number.isInteger((value as Partial<ErrorObject>).code) &&
    typeof (value as Partial<ErrorObject>).message === "string"
  );
}

/** The reply to one call; throws a `WireError` when the payload does not answer it. */
export function pairOne(id: Id, payload: unknown): Reply {
  if (!isEnvelope(payload)) throw badReply("the reply is not a JSON-RPC response");
  const reply = replyOf(payload);
  if (reply === undefined) throw badReply("the reply is not a JSON-RPC response");
  if (payload.id === id) return reply;
  // A server that could not read the id says null, and there is only this call that it can mean.
  if ((payload.id === null || payload.id === undefined) && reply.error !== undefined) return reply;
  throw badReply("the reply has the id of another call");
}

/**
 * What each call of a batch got, by id and never by position. Notifications get undefined. A reply
 * that nobody asked for is ignored, and of two with one id the first counts.
 */
export function pairBatch(
  requests: readonly Request[],
  payload: unknown,
): (Reply | WireError | undefined)[] {
  const unnamed: Reply[] = [];
  const named = new Map<unknown, Reply>();
  for (const entry of Array.isArray(payload) ? payload : [payload]) {
    const reply = isEnvelope(entry) ? replyOf(entry) : undefined;
    if (reply === undefined) continue;
    const { id } = entry as Envelope;
    if (id !== null && id !== undefined) {
      if (!named.has(id)) named.set(id, reply);
    } else if (reply.error !== undefined) unnamed.push(reply);
  }
  const open = requests.filter(({ id }) => id !== undefined && !named.has(id)).length;
  const [first] = unnamed;
  if (first !== undefined && !Array.isArray(payload)) {
    // One error in place of an array refuses the batch as a whole.
    return requests.map(({ id }) => (id === undefined ? undefined : (named.get(id) ?? first)));
  }
  // An invalid notification is answered without an id too, so it must not be among the suspects.
  const known = unnamed.length >= open && requests.every(({ id }) => id !== undefined);
  let next = 0;
  return requests.map(({ id }) => {
    if (id === undefined) return undefined;
    return named.get(id) ?? (known ? unnamed[next++] : unanswered(unnamed));
  });
}

function unanswered(unnamed: readonly Reply[]): WireError {
  if (unnamed.length === 0) return badReply("the reply to the batch leaves this call out");
  return badReply("a call of the batch failed, and the reply does not say which", {
    cause: unnamed[0]?.error,
  });
}

function badReply(sentence: string, options?: { cause: unknown }): WireError {
  return new WireError("BAD_REPLY", sentence, options);
}

/** One payload on its way, for the exchange that carries it. */
export class Payload {
  readonly requests: readonly Request[];
  /** Set by the exchange: stops it, because nobody waits for the reply any more. */
  onCancel: (() => void) | undefined = undefined;
  readonly #outgoing: readonly Outgoing[];
  #cancelled = false;
  #controller: AbortController | undefined;

  constructor(requests: readonly Request[], outgoing: readonly Outgoing[]) {
    this.requests = requests;
    this.#outgoing = outgoing;
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
    const all = this.#outgoing.flatMap(({ headers }) => headers ?? []);
    return all.length === 0 ? undefined : Object.assign({}, ...all);
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
    // Looking for the word first saves parsing every reply twice.
    if (!text.includes('"method"')) return false;
    const message = parsed(text);
    if (!isEnvelope(message) || typeof message.method !== "string") return false;
    const { id, token, value } = (isEnvelope(message.params) ? message.params : {}) as {
      id?: unknown;
      token?: unknown;
      value?: unknown;
    };
    if (message.method === "$/stream") return this.#of(id)?.item(value, noCredit) ?? true;
    if (message.method === "$/progress") this.#of(token)?.progress(value);
    return true;
  }

  #of(id: unknown): Outgoing | undefined {
    // What comes on the way of a single call can belong to no other.
    if (this.#outgoing.length === 1) return this.#outgoing[0];
    return this.#outgoing[this.requests.findIndex((request) => request.id === id)];
  }
}

/** A wire that answers each payload on its own has no way to speak of credit; it stops reading instead. */
function noCredit(): void {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Carries the text of one payload and brings back the text that answered it, or undefined for none. */
export type Exchange = (text: string, payload: Payload) => Promise<string | undefined>;

export interface ExchangeLinkOptions {
  /** Writes a request in place of the usual way; `alone` is false within a batch. */
  readonly write?: (request: Request, alone: boolean) => string;
  /** Lets go of what the exchange holds. */
  readonly close?: () => unknown;
}

/**
 * Makes a link of any wire that answers a text with a text:
 * `exchangeLink(async (text) => (await fetch(url, { method: "POST", body: text })).text())`.
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
  readonly #open = new Set<(error: WireError) => void>();
  #closed = false;

  constructor(exchange: Exchange, options: ExchangeLinkOptions) {
    this.#exchange = exchange;
    this.#write = options.write ?? requestText;
    this.#release = options.close;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return new Promise((resolve, reject) => {
      this.#carry([request], [outgoing], [{ resolve, reject }], () => this.#write(request, true));
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
    this.#carry(
      requests,
      outgoing,
      waiting,
      () => `[${requests.map((request) => this.#write(request, false)).join(",")}]`,
    );
    return replies;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const fail of [...this.#open]) fail(closedError());
    await this.#release?.();
  }

  #carry(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
    waiting: readonly Waiting[],
    write: () => string,
  ): void {
    const payload = new Payload(requests, outgoing);
    let left = requests.length;
    const over = (): void => {
      this.#open.delete(fail);
      for (const each of outgoing) each.cancel = undefined;
    };
    const fail = (error: unknown): void => {
      over();
      for (const { reject } of waiting) reject(error);
      payload.cancel();
    };
    const settle = (text: string | undefined): void => {
      over();
      try {
        deliver(requests, waiting, text);
      } catch (error) {
        for (const { reject } of waiting) reject(error);
      }
    };
    try {
      if (this.#closed) throw closedError();
      const text = write();
      this.#open.add(fail);
      outgoing.forEach((each, i) => {
        each.cancel = (error) => {
          each.cancel = undefined;
          waiting[i]?.reject(error);
          left--;
          // The others of a batch still want theirs.
          if (left === 0) fail(error);
        };
      });
      this.#exchange(text, payload).then(settle, fail);
    } catch (error) {
      fail(error);
    }
  }
}

function deliver(
  requests: readonly Request[],
  waiting: readonly Waiting[],
  text: string | undefined,
): void {
  const [request] = requests;
  if (requests.every(({ id }) => id === undefined)) {
    for (const { resolve } of waiting) resolve(undefined);
    return;
  }
  if (text === undefined) throw badReply("there was no reply");
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (cause) {
    throw badReply("the reply is not JSON", { cause });
  }
  if (waiting.length === 1 && !Array.isArray(payload)) {
    waiting[0]?.resolve(pairOne(request?.id as Id, payload));
    return;
  }
  pairBatch(requests, payload).forEach((reply, i) => {
    if (reply instanceof WireError) waiting[i]?.reject(reply);
    else waiting[i]?.resolve(reply);
  });
}

function closedError(): WireError {
  return new WireError("CLOSED", "the link is closed");
}
