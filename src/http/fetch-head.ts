import type { Transport } from "../protocol/origin.ts";
import type { HttpRequestFacts } from "../protocol/seal.ts";
import type { RequestHead } from "./request-head.ts";
import { timeoutOf } from "./timeout-header.ts";

/** Looks up what is asked for; joined values of doubled headers fit no rule, so they need no check. */
export class FetchHead implements RequestHead {
  readonly #request: Request;
  readonly doubled = false;

  constructor(request: Request) {
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get host(): string {
    // Some runtimes keep the header to themselves and only make the URL from it.
    return this.#get("host") ?? new URL(this.#request.url).host;
  }

  get origin(): string | undefined {
    return this.#get("origin");
  }

  get site(): string | undefined {
    return this.#get("sec-fetch-site");
  }

  get contentType(): string | undefined {
    return this.#get("content-type");
  }

  get contentEncoding(): string | undefined {
    return this.#get("content-encoding");
  }

  get contentLength(): string | undefined {
    return this.#get("content-length");
  }

  get accept(): string | undefined {
    return this.#get("accept");
  }

  get lastEventId(): string | undefined {
    return this.#get("last-event-id");
  }

  get authorization(): string | undefined {
    return this.#get("authorization");
  }

  get requestedHeaders(): string | undefined {
    return this.#get("access-control-request-headers");
  }

  #get(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }
}

/** Nothing is computed that no handler reads. */
export class FetchTransport implements Transport {
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

  /** What signs the reply; nothing unless somebody has verified the request. */
  signature(status: number, body: string): Readonly<Record<string, string>> | undefined {
    return this.#http?.signReply?.(status, body);
  }

  get headers(): Transport["headers"] {
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
