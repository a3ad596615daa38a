import type { IncomingMessage } from "node:http";
import type { PeerCertificate } from "../protocol/origin.ts";
import type { HttpRequestFacts } from "../protocol/seal.ts";
import { peerCertificate } from "../streams/peer-certificate.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import type { HttpTransport } from "./http-message.ts";
import { rawHeader } from "./node-head.ts";
import { timeoutOf } from "./request-head.ts";

/** Computes nothing before it is read. */
export class NodeTransport implements HttpTransport {
  readonly kind = "http";
  readonly #request: IncomingMessage;
  readonly #body: string | undefined;
  #http: HttpRequestFacts | undefined;

  /** `body` is exactly what was sent, if that is known. */
  constructor(request: IncomingMessage, body?: string) {
    this.#request = request;
    this.#body = body;
  }

  get http(): HttpRequestFacts {
    const { method = "", headers, url = "" } = this.#request;
    this.#http ??= {
      method,
      authority: headers.host ?? (headers[":authority"] as string | undefined) ?? "",
      // Frameworks remove from `url` the path that they were mounted at.
      target: (this.#request as { originalUrl?: string }).originalUrl ?? url,
      body: this.#body,
      signReply: undefined,
    };
    return this.#http;
  }

  signature(status: number, body: string): HeaderRecord | undefined {
    return this.#http?.signReply?.(status, body);
  }

  get headers(): HttpTransport["headers"] {
    return this.#request.headers;
  }

  get connection(): object {
    return this.#request.socket;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get timeoutMs(): number | undefined {
    return timeoutOf(rawHeader(this.#request, "timeout-ms"));
  }

  get certificate(): PeerCertificate | undefined {
    return peerCertificate(this.#request.socket);
  }
}
