import {
  chunksOf,
  type HeaderRecord,
  type HeaderSource,
  isEventStream,
  readBytes,
  readText,
  wireErrorOf,
} from "../../../http/client-exchange.ts";
import { defaultMaxReplyBytes } from "../../../protocol/defaults.ts";
import { safeTap, type Tap } from "../../../protocol/tap.ts";
import { httpUrl } from "../../../protocol/url.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Sends one request; replaces `fetch`. */
export type Send = (url: string, sent: Sent) => Promise<HttpResponse>;

export interface HttpSenderOptions {
  /** Headers for every request; a function is called for each one and may be asynchronous. */
  readonly headers?: HeaderSource | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Longest reply, and longest event of a stream, in bytes; stops memory exhaustion. @default 10 MiB */
  readonly maxReplyBytes?: number | undefined;
  /** Provides the token, and a better one when the server asks for it; `oauth` creates one. */
  readonly authorization?: Authorization | undefined;
  /** Called with every message that is sent or received. */
  readonly tap?: Tap | undefined;
}

export interface Sent {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: HeaderRecord;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Set if the request must not wait for a connection that a call occupies. */
  readonly beside?: boolean | undefined;
}

/** Sends requests to one URL, with its headers and its token. */
export class HttpSender {
  readonly url: string;
  readonly maxReplyBytes: number;
  readonly tap: Tap | undefined;
  readonly #options: HttpSenderOptions;
  readonly #send: Send;

  constructor(url: string | URL, options: HttpSenderOptions, send?: Send) {
    this.url = String(url);
    httpUrl(this.url);
    this.maxReplyBytes = options.maxReplyBytes ?? defaultMaxReplyBytes;
    this.tap = options.tap === undefined ? undefined : safeTap(options.tap);
    this.#options = options;
    this.#send = send ?? fetchSend(options.fetch);
  }

  /** The same for another URL of the same server; without the tap: the connection there has its own. */
  at(url: string): HttpSender {
    return new HttpSender(url, { ...this.#options, tap: undefined }, this.#send);
  }

  /** Gets a token and sends again if the server requires one. */
  async send(sent: Sent): Promise<HttpResponse> {
    const { authorization } = this.#options;
    if (sent.body !== undefined) this.tap?.(sent.body, "sent");
    for (let attempt = 1; ; attempt++) {
      const token = await authorization?.token(this.url);
      const answer = await this.#withHeaders(sent, token);
      const { status } = answer;
      const isRefused = status === 401 || status === 403;
      // Ending a session is not worth a sign-in.
      if (!isRefused || authorization === undefined || sent.method === "DELETE") return answer;
      const header = answer.header("www-authenticate");
      const challenge = { status, header, token, url: this.url, attempt } as const;
      const buffered = await this.#buffered(answer);
      if (!(await authorization.challenged(challenge))) return buffered;
    }
  }

  async text(answer: HttpResponse): Promise<string> {
    try {
      return await readText(answer.chunks, this.maxReplyBytes);
    } catch (error) {
      throw wireErrorOf(error);
    }
  }

  /** The same response, fully read, so that it occupies no connection during a sign-in. */
  async #buffered(answer: HttpResponse): Promise<HttpResponse> {
    const { status, header, chunks } = answer;
    let body: Uint8Array | undefined;
    if (isEventStream(header("content-type"))) await answer.discard();
    else body = await readBytes(chunks, this.maxReplyBytes).catch(() => undefined);
    return { status, header, chunks: only(body), discard: async () => {} };
  }

  async #withHeaders(sent: Sent, token: string | undefined): Promise<HttpResponse> {
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
      // Following a redirect would send the call and its token to another server.
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

/** A response that requires a token, or one with more scopes. */
export interface Challenge {
  readonly status: 401 | 403;
  /** The header `WWW-Authenticate`. */
  readonly header: string | undefined;
  /** The token that was sent, if any. */
  readonly token: string | undefined;
  /** The MCP endpoint. */
  readonly url: string;
  /** How many times the request was sent. */
  readonly attempt: number;
}

/** Provides the tokens of a wire; `oauth` creates one. */
export interface Authorization {
  /** The token to send with a request; undefined if there is none yet. */
  token(url: string): Promise<string | undefined>;
  /** Resolves with true if the request should be sent again. */
  challenged(challenge: Challenge): Promise<boolean>;
}

/** An HTTP response, independent of the HTTP client. */
export interface HttpResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body; leaving the loop releases the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Drops the body and releases the connection. */
  discard(): Promise<void>;
}

export function isSuccess({ status }: HttpResponse): boolean {
  return status >= 200 && status < 300;
}
