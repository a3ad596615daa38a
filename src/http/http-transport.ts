import type { PeerCertificate, Transport } from "../protocol/origin.ts";
import type { HttpRequestFacts } from "../protocol/seal.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import type { SentBody } from "./content-coding.ts";
import type { HttpMessage } from "./http-message.ts";

/** Where a call over HTTP came from; computes nothing before it is read. */
export class HttpTransport implements Transport {
  readonly kind = "http";
  readonly #message: HttpMessage;
  readonly #body: SentBody | undefined;
  #http: HttpRequestFacts | undefined = undefined;

  /** `body` is exactly what was sent, if that is known. */
  constructor(message: HttpMessage, body: SentBody | undefined) {
    this.#message = message;
    this.#body = body;
  }

  get http(): HttpRequestFacts {
    const { head } = this.#message;
    this.#http ??= {
      method: head.method ?? "",
      authority: head.host ?? "",
      target: this.#message.target,
      body: this.#body,
      signReply: undefined,
    };
    return this.#http;
  }

  get isSigned(): boolean {
    return this.#http?.signReply !== undefined;
  }

  /** The headers that sign a reply; undefined unless the request was verified. */
  signature(status: number, body: string): HeaderRecord | undefined {
    return this.#http?.signReply?.(status, body);
  }

  get headers(): Transport["headers"] {
    return this.#message.headers;
  }

  get connection(): object | undefined {
    return this.#message.connection;
  }

  get remoteAddress(): string | undefined {
    return this.#message.remoteAddress;
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
