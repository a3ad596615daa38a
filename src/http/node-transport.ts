import type { IncomingMessage } from "node:http";
import type { PeerCertificate, Transport } from "../protocol/origin.ts";
import type { HttpRequestFacts } from "../protocol/seal.ts";
import { peerCertificate } from "../streams/peer-certificate.ts";
import { timeoutOf } from "./timeout-header.ts";

/** Nothing is computed that no handler reads. */
export class NodeTransport implements Transport {
  readonly kind = "http";
  readonly #request: IncomingMessage;
  readonly #body: string | undefined;
  #http: HttpRequestFacts | undefined;

  /** `body` is what was sent, letter by letter, where that is known. */
  constructor(request: IncomingMessage, body?: string) {
    this.#request = request;
    this.#body = body;
  }

  get http(): HttpRequestFacts {
    const { method = "", headers, url = "" } = this.#request;
    this.#http ??= {
      method,
      authority: headers.host ?? (headers[":authority"] as string | undefined) ?? "",
      // Frameworks take from the address what they were mounted at.
      target: (this.#request as { originalUrl?: string }).originalUrl ?? url,
      body: this.#body,
      signReply: undefined,
    };
    return this.#http;
  }

  /** What signs the reply; nothing unless somebody has verified the request. */
  signature(status: number, body: string): Readonly<Record<string, string>> | undefined {
    return this.#http?.signReply?.(status, body);
  }

  get headers(): Transport["headers"] {
    return this.#request.headers;
  }

  get connection(): object {
    return this.#request.socket;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get timeoutMs(): number | undefined {
    const { "timeout-ms": header } = this.#request.headers;
    return typeof header === "string" ? timeoutOf(header) : undefined;
  }

  get certificate(): PeerCertificate | undefined {
    return peerCertificate(this.#request.socket);
  }
}
