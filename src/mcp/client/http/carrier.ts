import {
  chunksOf,
  type HeaderRecord,
  type HeaderSource,
  readText,
  wireErrorOf,
} from "../../../framing/http-exchange.ts";
import { harmless, type Tap } from "../../../protocol/tap.ts";
import type { Authorization } from "./authorization.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

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
}

/** Brings requests to one URL with the headers and the token that belong to it. */
export class Carrier {
  readonly url: string;
  readonly maxReplyBytes: number;
  readonly tap: Tap | undefined;
  readonly #options: CarrierOptions;

  constructor(url: string | URL, options: CarrierOptions) {
    this.url = String(url);
    if (new URL(this.url).username !== "") {
      throw new TypeError("put credentials into headers, not into the URL");
    }
    this.maxReplyBytes = options.maxReplyBytes ?? 10 * 1024 * 1024;
    this.tap = options.tap === undefined ? undefined : harmless(options.tap);
    this.#options = options;
  }

  /** The same for another URL of the same server; what passes it is watched elsewhere. */
  at(url: string): Carrier {
    return new Carrier(url, { ...this.#options, tap: undefined });
  }

  /** Asks for a token where the server wants one, and sends again. */
  async send(sent: Sent): Promise<Response> {
    const { authorization } = this.#options;
    if (sent.body !== undefined) this.tap?.(sent.body, "sent");
    for (let attempt = 1; ; attempt++) {
      const token = await authorization?.token(this.url);
      const response = await this.#fetch(sent, token);
      const { status } = response;
      const isRefused = status === 401 || status === 403;
      // Nobody signs in to say goodbye.
      if (!isRefused || authorization === undefined || sent.method === "DELETE") return response;
      const header = response.headers.get("www-authenticate") ?? undefined;
      const challenge = { status, header, token, url: this.url, attempt } as const;
      // The body is kept: it is the answer if nothing can be done.
      const body = await this.text(response);
      if (!(await authorization.challenged(challenge))) {
        return new Response(body, { status, headers: response.headers });
      }
    }
  }

  async text(response: Response): Promise<string> {
    try {
      return await readText(chunksOf(response.body), this.maxReplyBytes);
    } catch (error) {
      throw wireErrorOf(error);
    }
  }

  async #fetch(sent: Sent, token: string | undefined): Promise<Response> {
    const { headers: source, fetch: send = (to, init) => fetch(to, init) } = this.#options;
    const given = typeof source === "function" ? await source() : source;
    const headers = new Headers(given);
    for (const [name, value] of Object.entries(sent.headers)) headers.set(name, value);
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    try {
      return await send(this.url, {
        method: sent.method,
        headers,
        ...(sent.body !== undefined && { body: sent.body }),
        ...(sent.signal !== undefined && { signal: sent.signal }),
        // Following would send the call, and its token, to whoever the answer names.
        redirect: "manual",
      });
    } catch (error) {
      throw wireErrorOf(error);
    }
  }
}
