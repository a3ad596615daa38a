import { FetchMessage } from "../../http/fetch-message.ts";
import type { Service } from "../../protocol/service.ts";
import { Endpoint } from "./endpoint.ts";
import { EndpointRules, type HttpOptions } from "./endpoint-rules.ts";

export interface FetchHandlerOptions extends HttpOptions {
  /** Gives the caller's address from what the runtime passes, since a `Request` does not have it. @default unknown */
  readonly remoteAddress?: (request: Request, ...rest: unknown[]) => string | undefined;
}

export type FetchHandler = (request: Request, ...rest: unknown[]) => Promise<Response>;

/**
 * Answers requests of Hono, Next.js, Workers, Deno, Bun and anything else that uses `fetch`:
 * `Deno.serve(fetchHandler(server))`, `app.all("/rpc", (c) => handler(c.req.raw))`.
 * @example
 * ```ts
 * import { fetchHandler } from "callwire/http";
 *
 * // The export of a Worker; Deno.serve, Bun.serve and Hono take the handler too.
 * export default { fetch: fetchHandler(server, { hosts: ["api.example.com"] }) };
 * ```
 */
export function fetchHandler(service: Service, options: FetchHandlerOptions = {}): FetchHandler {
  const endpoint = new Endpoint(new EndpointRules(service, options));
  const { remoteAddress } = options;
  return (request, ...rest) => {
    const address = remoteAddress && (() => remoteAddress(request, ...rest));
    return new Promise((resolve, reject) => {
      const { limits } = endpoint.rules;
      endpoint.handle(new FetchMessage(request, limits, { resolve, reject }, address));
    });
  };
}
