import type { RequestHead } from "./http-message.ts";

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
