import { FetchMessage } from "../../http/fetch-message.ts";
import type { Service } from "../../protocol/service.ts";
import { Endpoint } from "./endpoint.ts";
import { EndpointRules, type HttpOptions } from "./endpoint-rules.ts";

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

/** What runtimes pass besides the request. */
interface RuntimeInfo {
  /** Of `Deno.serve`. */
  readonly remoteAddr?: { readonly hostname?: string };
  /** Of `Bun.serve`, which passes its server. */
  requestIP?(request: Request): { readonly address?: string } | null;
  /** The same, as some frameworks on Bun pass it on. */
  readonly server?: Pick<RuntimeInfo, "requestIP">;
  /** Of Hono on Node. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
}

/** The client's address, as far as the runtime gives it. */
function runtimeAddress(request: Request, ...[given]: readonly unknown[]): string | undefined {
  if (globalThis.navigator?.userAgent === "Cloudflare-Workers") {
    // Cloudflare sets this header itself. The second argument has the bindings of the program there.
    return request.headers.get("cf-connecting-ip") ?? undefined;
  }
  if (typeof given !== "object" || given === null) return undefined;
  const info = given as RuntimeInfo;
  const bun = info.server ?? info;
  return (
    info.remoteAddr?.hostname ??
    bun.requestIP?.(request)?.address ??
    info.incoming?.socket?.remoteAddress
  );
}
