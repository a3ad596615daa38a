/** Serves JSON-RPC over HTTP, WebSocket and event streams on one port, in Node. @module callwire/http/node */

import type { Service } from "../protocol/service.ts";
import type { ServeHttpOptions, ServeWorkersOptions } from "./http-options.ts";
import { HttpServer } from "./http-server.ts";
import { HttpWorkers } from "./workers/primary.ts";
import { HttpWorker } from "./workers/worker.ts";

export {
  type FetchHandler,
  fetchHandler,
  type HeaderRecord,
  type HeaderSource,
  type HttpLinkOptions,
  type HttpOptions,
  httpLink,
} from "../transports/http/index-node.ts";
export {
  type NodeHandler,
  type NodeHttpOptions,
  nodeHandler,
} from "../transports/http/node-handler.ts";
export type { ServeHttpOptions, ServeWorkersOptions } from "./http-options.ts";
export { HttpServer } from "./http-server.ts";
export { type PlaygroundOptions, playgroundHandler } from "./playground.ts";
export { HttpWorkers } from "./workers/primary.ts";

/**
 * Starts an HTTP server for a service.
 * @example
 * ```ts
 * import { serveHttp } from "callwire/http/node";
 *
 * const http = await serveHttp(server, { port: 8000, playground: true });
 * console.log(http.url); // http://127.0.0.1:8000/rpc
 * process.once("SIGTERM", () => server.close()); // running calls finish
 * ```
 */
export function serveHttp(service: Service, options?: ServeHttpOptions): Promise<HttpServer>;
export function serveHttp(
  service: Service,
  options: ServeWorkersOptions,
): Promise<HttpServer | HttpWorkers>;
export async function serveHttp(
  service: Service,
  options: ServeHttpOptions & Partial<ServeWorkersOptions> = {},
): Promise<HttpServer | HttpWorkers> {
  if (typeof service?.receive !== "function" || service.running === undefined) {
    throw new TypeError("serveHttp needs a server: serveHttp(createServer(methods))");
  }
  const { workers } = options;
  if (workers !== undefined && HttpWorkers.isPrimary) {
    const started = new HttpWorkers(service, { ...options, workers });
    await started.start();
    return started;
  }
  const worker = workers === undefined ? undefined : new HttpWorker(service);
  const server = new HttpServer(service, worker?.options(options) ?? options);
  await server.listen();
  worker?.serve(server);
  return server;
}
