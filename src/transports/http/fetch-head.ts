import { timeoutOf } from "../../framing/timeout-header.ts";
import type { Transport } from "../../protocol/origin.ts";
import type { RequestHead } from "./endpoint.ts";

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
  #headers: Record<string, string> | undefined;

  constructor(request: Request, address: (() => string | undefined) | undefined) {
    this.#request = request;
    this.#address = address;
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
