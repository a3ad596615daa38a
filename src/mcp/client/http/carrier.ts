import {
  chunksOf,
  type HeaderRecord,
  type HeaderSource,
  isEventStream,
  readBytes,
  readText,
  wireErrorOf,
} from "../../../http/client-exchange.ts";
import { httpUrl } from "../../../protocol/address.ts";
import { harmless, type Tap } from "../../../protocol/tap.ts";
import type { Authorization } from "./authorization.ts";
import type { HttpAnswer } from "./http-answer.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Sends one request, in place of `fetch`. */
export type Send = (url: string, sent: Sent) => Promise<HttpAnswer>;

export interface CarrierOptions {
  /** Sent with every request; a function is asked for each, and may be asynchronous. */
  readonly headers?: HeaderSource | undefined;
  /** Carries the requests in place of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Longest reply in bytes, and longest event of a stream; stops memory exhaustion. @default 10 MiB */
  readonly maxReplyBytes?: number | undefined;
  /** Gives tokens, and hears when a server wants another one; `oauth` makes one. */
  readonly authorization?: Authorization | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
}

export interface Sent {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: HeaderRecord;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Set where it must not wait for a connection that a call holds. */
  readonly beside?: boolean | undefined;
}

/** Brings requests to one URL with the headers and the token that belong to it. */
export class Carrier {
  readonly url: string;
  readonly maxReplyBytes: number;
  readonly tap: Tap | undefined;
  readonly #options: CarrierOptions;
  readonly #send: Send;

  constructor(url: string | URL, options: CarrierOptions, send?: Send) {
    this.url = String(url);
    httpUrl(this.url);
    this.maxReplyBytes = options.maxReplyBytes ?? 10 * 1024 * 1024;
    this.tap = options.tap === undefined ? undefined : harmless(options.tap);
    this.#options = options;
    this.#send = send ?? fetchSend(options.fetch);
  }

  /** The same for another URL of the same server; what passes it is watched elsewhere. */
  at(url: string): Carrier {
    return new Carrier(url, { ...this.#options, tap: undefined }, this.#send);
  }

  /** Asks for a token where the server wants one, and sends again. */
  async send(sent: Sent): Promise<HttpAnswer> {
    const { authorization } = this.#options;
    if (sent.body !== undefined) this.tap?.(sent.body, "sent");
    for (let attempt = 1; ; attempt++) {
      const token = await authorization?.token(this.url);
      const answer = await this.#withHeaders(sent, token);
      const { status } = answer;
      const isRefused = status === 401 || status === 403;
      // Nobody signs in to say goodbye.
      if (!isRefused || authorization === undefined || sent.method === "DELETE") return answer;
      const header = answer.header("www-authenticate");
      const challenge = { status, header, token, url: this.url, attempt } as const;
      const held = await this.#held(answer);
      if (!(await authorization.challenged(challenge))) return held;
    }
  }

  async text(answer: HttpAnswer): Promise<string> {
    try {
      return await readText(answer.chunks, this.maxReplyBytes);
    } catch (error) {
      throw wireErrorOf(error);
    }
  }

  /** The same answer, which holds no connection while somebody signs in. */
  async #held(answer: HttpAnswer): Promise<HttpAnswer> {
    const { status, header, chunks } = answer;
    let body: Uint8Array | undefined;
    if (isEventStream(header("content-type"))) await answer.discard();
    else body = await readBytes(chunks, this.maxReplyBytes).catch(() => undefined);
    return { status, header, chunks: only(body), discard: async () => {} };
  }

  async #withHeaders(sent: Sent, token: string | undefined): Promise<HttpAnswer> {
    const { headers: source } = this.#options;
    const given = typeof source === "function" ? await source() : source;
    const headers: Record<string, string> = {};
    for (const record of [given, sent.headers]) {
      for (const [name, value] of Object.entries(record ?? {})) headers[name.toLowerCase()] = value;
    }
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    try {
      return await this.#send(this.url, { ...sent, headers });
    } catch (error) {
      throw wireErrorOf(error);
    }
  }
}

async function* only(chunk: Uint8Array | undefined): AsyncGenerator<Uint8Array> {
  if (chunk !== undefined) yield chunk;
}

function fetchSend(own: Fetch = (to, init) => fetch(to, init)): Send {
  return async (url, { method, headers, body, signal }) => {
    const response = await own(url, {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
      // Following would send the call, and its token, to whoever the answer names.
      redirect: "manual",
    });
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      chunks: chunksOf(response.body),
      discard: async () => response.body?.cancel(),
    };
  };
}
