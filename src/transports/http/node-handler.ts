import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyLimits } from "../../http/node-body.ts";
import { NodeHead } from "../../http/node-head.ts";
import { inTurn } from "../../http/pipeline.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import type { Service } from "../../protocol/service.ts";
import { Endpoint, type HttpOptions, type Route } from "./endpoint.ts";
import { NodeExchange } from "./node-exchange.ts";
import { Pace } from "./pace.ts";

export type NodeHttpOptions = HttpOptions;

export interface NodeHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Resolves when no call runs that a server which closes should let finish, for replies that begin before they are done. */
  readonly idle?: (() => Promise<void>) | undefined;
}

/**
 * Answers requests of `node:http`, and of what builds on it: `app.use("/rpc", nodeHandler(server))`
 * in Express, with or without a body parser before it.
 */
export function nodeHandler(service: Service, options: NodeHttpOptions = {}): NodeHandler {
  const endpoint = new NodeEndpoint(service, options);
  return (request, response) => endpoint.handle(request, response);
}

/** One service on a server of Node's. */
export class NodeEndpoint {
  readonly rules: Endpoint;
  readonly pace: Pace;
  readonly bodyLimits: BodyLimits;
  readonly #open = new LinkedList<NodeExchange>();
  readonly #idle: (() => void)[] = [];
  /** Set when the server stops: connections close after their reply. */
  closing = false;

  constructor(service: Service, options: NodeHttpOptions, bound?: string) {
    this.rules = new Endpoint(service, options, bound);
    const { limits, running } = service;
    this.bodyLimits = { maxMessageBytes: limits.maxMessageBytes, buffers: running.buffers };
    this.pace = new Pace(service.answerer.settings.overload);
  }

  /** `waits` says that the client sends the body once it is told to. */
  handle(request: IncomingMessage, response: ServerResponse, waits = false): void {
    // Somebody before may have answered and passed the request on all the same.
    if (response.headersSent) return;
    this.pace.arrived();
    const head = new NodeHead(request);
    const exchange = new NodeExchange(this, request, response, head);
    const route = this.rules.route(head, request.url ?? "");
    if (route.kind === "read") {
      if (waits) response.writeContinue();
      exchange.read(route.plain);
    } else inTurn(request, response, this.bodyLimits.buffers, () => follow(exchange, route));
  }

  /** The call of this request goes on after this turn. */
  enter(exchange: NodeExchange): void {
    this.#open.add(exchange);
  }

  leave(exchange: NodeExchange): void {
    this.#open.remove(exchange);
    if (this.#open.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  /** Resolves when no request waits for its call. */
  idle(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends what runs, and tells its callers so. */
  cutShort(): void {
    for (const exchange of this.#open.list()) exchange.cutShort();
  }
}

function follow(exchange: NodeExchange, route: Exclude<Route, { kind: "read" }>): void {
  switch (route.kind) {
    case "call":
      exchange.call(route.text, route.known);
      break;
    case "resume":
      exchange.resume(route.recording, route.after);
      break;
    case "drop":
      exchange.drop(route.recording);
      break;
    case "refuse":
      exchange.refuse(route.refusal);
  }
}
