import { FetchMessage } from "../../http/fetch-message.ts";
import type { Service } from "../../protocol/service.ts";
import { Endpoint } from "./endpoint.ts";
import { EndpointRules, type HttpOptions } from "./endpoint-rules.ts";
import { runtimeAddress } from "./runtime-address.ts";

export interface FetchHandlerOptions extends HttpOptions {
  /**
   * Gives the client's address from what the runtime passes, since a `Request` does not have it; limits per address need
   * it. @default as Deno, Bun, Workers and Hono on Node give it
   */
  readonly remoteAddress?: (request: Request, ...rest: unknown[]) => string | undefined;
}

export type FetchHandler = (request: Request, ...rest: unknown[]) => Promise<Response>;

/**
 * Answers requests of Hono, Next.js, Workers, Deno, Bun and anything else that uses `fetch`:
 * `Deno.serve(fetchHandler(server))`, `app.all("/rpc", (c) => handler(c.req.raw, c.env))`.
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
  const { remoteAddress = runtimeAddress } = options;
  return (request, ...rest) => {
    const address = () => remoteAddress(request, ...rest);
    return new Promise((resolve, reject) => {
      const { limits } = endpoint.rules;
      endpoint.handle(new FetchMessage(request, limits, { resolve, reject }, address));
    });
  };
}
