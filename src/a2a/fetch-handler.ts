import {
  type FetchHandler,
  type FetchHandlerOptions,
  fetchHandler,
} from "../transports/http/fetch-handler.ts";
import type { A2aAgent } from "./a2a-agent.ts";
import { CardHandler, cardPath } from "./card-handler.ts";

export interface A2aHandlerOptions extends FetchHandlerOptions {
  /** The address of the agent as its clients see it. @default the URL of the request, at `/a2a` */
  readonly url?: string;
}

/**
 * Serves an agent and its card on runtimes with `fetch`: Workers, Hono, Next.js, Deno, Bun.
 * @example
 * ```ts
 * import { a2aAgent, a2aHandler } from "callwire/a2a";
 *
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   execute: (message) => message.text,
 * });
 * export default { fetch: a2aHandler(agent, { hosts: ["agents.example.com"] }) };
 * ```
 */
export function a2aHandler(agent: A2aAgent, options: A2aHandlerOptions = {}): FetchHandler {
  const handle = fetchHandler(agent, options);
  const cards = new CardHandler(agent);
  agent.url = options.url;
  return async (request, ...rest) => {
    if (!new URL(request.url).pathname.endsWith(cardPath)) return handle(request, ...rest);
    const { status, body, headers } = await cards.reply({
      method: request.method,
      url: options.url ?? new URL("/a2a", request.url).href,
      header: (name) => request.headers.get(name) ?? undefined,
    });
    return new Response(body === "" ? null : body, { status, headers });
  };
}
