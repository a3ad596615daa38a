import type { IncomingMessage } from "node:http";
import type { Transport } from "../../protocol/origin.ts";
import { timeoutOf } from "./timeout-header.ts";

/** Nothing is computed that no handler reads. */
export class NodeTransport implements Transport {
  readonly kind = "http";
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  get headers(): Transport["headers"] {
    return this.#request.headers;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get timeoutMs(): number | undefined {
    const { "timeout-ms": header } = this.#request.headers;
    return typeof header === "string" ? timeoutOf(header) : undefined;
  }
}
