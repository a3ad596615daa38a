import type { IncomingMessage } from "node:http";
import { timeoutOf } from "../../framing/timeout-header.ts";
import type { Transport } from "../../protocol/origin.ts";

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
