import type { PeerCertificate, Transport } from "../protocol/origin.ts";
import type { HttpRequestFacts } from "../protocol/seal.ts";
import type { SentBody } from "./content-coding.ts";
import type { HttpMessage } from "./http-message.ts";

/** Where a call over HTTP came from; computes nothing before it is read. */
export class HttpTransport implements Transport {
  readonly kind = "http";
  readonly #message: HttpMessage;
  readonly #body: SentBody | undefined;
  /** What `http` returned, if it was read; verifying a request sets `signReply`. */
  facts: HttpRequestFacts | undefined = undefined;

  /** `body` is exactly what was sent, if that is known. */
  constructor(message: HttpMessage, body: SentBody | undefined) {
    this.#message = message;
    this.#body = body;
  }

  get http(): HttpRequestFacts {
    const { head } = this.#message;
    this.facts ??= {
      method: head.method ?? "",
      authority: head.host ?? "",
      target: this.#message.target,
      body: this.#body,
      signReply: undefined,
    };
    return this.facts;
  }

  get headers(): Transport["headers"] {
    return this.#message.headers;
  }

  header(name: string): string | undefined {
    return this.#message.head.get(name);
  }

  get connection(): object | undefined {
    return this.#message.connection;
  }

  get remoteAddress(): string | undefined {
    return this.#message.remoteAddress;
  }

  get remotePort(): number | undefined {
    return (this.#message.connection as { readonly remotePort?: number } | undefined)?.remotePort;
  }

  get certificate(): PeerCertificate | undefined {
    return this.#message.certificate;
  }

  /** How long the caller still waits; undefined unless the header is a number. */
  get timeoutMs(): number | undefined {
    return timeoutOf(this.#message.head.get("timeout-ms"));
  }
}

export function timeoutOf(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,12}$/.test(header)
    ? Number(header)
    : undefined;
}
