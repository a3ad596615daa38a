import type { HttpRequestFacts } from "../protocol/seal.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import type { HttpTransport } from "./http-message.ts";
import { type RequestHead, timeoutOf } from "./request-head.ts";

/** Looks headers up when they are asked for; the joined values of a repeated one fit no rule, so it needs no check. */
export class FetchHead implements RequestHead {
  readonly #request: Request;
  readonly isAmbiguous = false;

  constructor(request: Request) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get host(): string {
    // Some runtimes do not show the header, and only make the URL from it.
    return this.get("host") ?? new URL(this.#request.url).host;
  }

  get origin(): string | undefined {
    return this.get("origin");
  }

  get site(): string | undefined {
    return this.get("sec-fetch-site");
  }

  get contentType(): string | undefined {
    return this.get("content-type");
  }

  get contentEncoding(): string | undefined {
    return this.get("content-encoding");
  }

  get contentLength(): string | undefined {
    return this.get("content-length");
  }

  get accept(): string | undefined {
    return this.get("accept");
  }

  get(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }
}

/** Computes nothing before it is read. */
export class FetchTransport implements HttpTransport {
  readonly kind = "http";
  readonly #request: Request;
  readonly #address: (() => string | undefined) | undefined;
  readonly #body: string | undefined;
  #headers: Record<string, string> | undefined;
  #http: HttpRequestFacts | undefined;

  constructor(
    request: Request,
    body: string | undefined,
    address: (() => string | undefined) | undefined,
  ) {
    this.#request = request;
    this.#body = body;
    this.#address = address;
  }

  get http(): HttpRequestFacts {
    if (this.#http === undefined) {
      const { method, headers, url } = this.#request;
      const { host, pathname, search } = new URL(url);
      this.#http = {
        method,
        authority: headers.get("host") ?? host,
        target: pathname + search,
        body: this.#body,
        signReply: undefined,
      };
    }
    return this.#http;
  }

  signature(status: number, body: string): HeaderRecord | undefined {
    return this.#http?.signReply?.(status, body);
  }

  get headers(): HttpTransport["headers"] {
    this.#headers ??= Object.fromEntries(this.#request.headers);
    return this.#headers;
  }

  get remoteAddress(): string | undefined {
    return this.#address?.();
  }

  get timeoutMs(): number | undefined {
    return timeoutOf(this.#request.headers.get("timeout-ms"));
  }
}
