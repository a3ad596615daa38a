import type { Middleware } from "../protocol/handle.ts";
import type { Principal } from "../protocol/origin.ts";
import type { Methods } from "../server/method.ts";
import { createServer, type ServerOptions } from "../server/server.ts";
import { fetchHandler } from "../transports/http/fetch-handler.ts";

export interface MswHandlerOptions extends ServerOptions {
  /** The caller of every call, as if authenticated. @default none */
  readonly principal?: Principal;
}

/** What a request handler of MSW is given. */
export type MswResolver = (info: { readonly request: Request }) => Promise<Response>;

/**
 * Answers the calls of pages under test, for a request handler of MSW (mswjs.io): methods, or a part of them by `mock`.
 * @example
 * ```ts
 * import { mock, mswHandler } from "callwire/testing";
 *
 * const answer = mswHandler(mock<typeof methods>({ math: { add: () => 42 } }));
 * // import { http } from "msw"; setupServer(http.post("/rpc", answer)).listen();
 * const request = new Request("https://app.example.com/rpc", {
 *   method: "POST",
 *   headers: { "content-type": "application/json" },
 *   body: '{"jsonrpc":"2.0","method":"math/add","params":{"a":2,"b":3},"id":1}',
 * });
 * console.log((await answer({ request })).status); // 200
 * ```
 */
export function mswHandler(
  methods: Methods,
  { principal, use = [], ...options }: MswHandlerOptions = {},
): MswResolver {
  const identify: Middleware = (next) => (request, context) => {
    context.principal ??= principal;
    return next(request, context);
  };
  const server = createServer(methods, { ...options, use: [identify, ...use] });
  // Nothing reaches it from a network, so that it needs no protection from other pages.
  const handle = fetchHandler(server, { hosts: "any", origins: () => true });
  return ({ request }) => handle(request);
}
