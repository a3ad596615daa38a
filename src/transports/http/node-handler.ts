import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeMessage } from "../../http/node-message.ts";
import type { Service } from "../../protocol/service.ts";
import { Endpoint } from "./endpoint.ts";
import { EndpointRules, type HttpOptions } from "./endpoint-rules.ts";
import { Pace } from "./pace.ts";

export type NodeHttpOptions = HttpOptions;

export interface NodeHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Resolves when no call runs that a closing server should let finish, if responses begin before their call has ended. */
  readonly idle?: (() => Promise<void>) | undefined;
}

/**
 * Answers requests of `node:http`, and of what builds on it: `app.use("/rpc", nodeHandler(server))`
 * in Express, with or without a body parser before it.
 * @example
 * ```ts
 * import { nodeHandler } from "callwire/http/node";
 * import express from "express";
 *
 * const app = express();
 * app.use("/rpc", nodeHandler(server));
 * app.listen(3000, "127.0.0.1");
 * ```
 */
export function nodeHandler(service: Service, options: NodeHttpOptions = {}): NodeHandler {
  const endpoint = nodeEndpoint(service, options);
  return (request, response) => handleNode(endpoint, request, response);
}

/** `bound` is the address that the server listens on, if it is a single one. */
export function nodeEndpoint(service: Service, options: NodeHttpOptions, bound?: string): Endpoint {
  const pace = new Pace(service.answerer.settings.overload);
  return new Endpoint(new EndpointRules(service, options, bound), pace);
}

/** `awaitsContinue` says that the client sends the body only after "100 Continue". */
export function handleNode(
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
  awaitsContinue = false,
): void {
  // Other code may have answered, and still passed the request on.
  if (response.headersSent) return;
  endpoint.handle(new NodeMessage(request, response, endpoint.rules.limits, awaitsContinue));
}
