import type { IncomingMessage } from "node:http";
import type { Service } from "../protocol/service.ts";
import type { NodeHandler } from "../transports/http/node-handler.ts";
import type { A2aAgent } from "./a2a-agent.ts";
import { CardHandler, cardPath } from "./card-handler.ts";

export interface A2aMountOptions {
  /** The path of the agent. @default "/a2a" */
  readonly path?: string;
  /** The address of the agent as its clients see it, such as that of a proxy. @default from the Host header */
  readonly url?: string;
}

/**
 * What `serveHttp` mounts: the agent at its path, and its card where clients look for it.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { a2aMounts } from "callwire/a2a/node";
 * import { serveHttp } from "callwire/http/node";
 *
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   execute: (message) => message.text,
 * });
 * await serveHttp(server, { port: 8000, mounts: a2aMounts(agent) }); // /rpc and /a2a
 * ```
 */
export function a2aMounts(
  agent: A2aAgent,
  options: A2aMountOptions = {},
): Readonly<Record<string, Service | NodeHandler>> {
  const { path = "/a2a" } = options;
  const cards = new CardHandler(agent);
  agent.url = options.url;
  const card: NodeHandler = async (request, response) => {
    const { status, body, headers } = await cards.reply({
      method: request.method,
      url: options.url ?? urlOf(request, path),
      header: (name) => request.headers[name]?.toString(),
    });
    response.writeHead(status, headers);
    response.end(body);
  };
  return { [path]: agent, [cardPath]: card };
}

function urlOf({ socket, headers }: IncomingMessage, path: string): string {
  const scheme = "encrypted" in socket ? "https" : "http";
  return `${scheme}://${headers.host ?? "localhost"}${path}`;
}
