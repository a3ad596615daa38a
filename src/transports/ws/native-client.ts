import type { Connection } from "../../connection/connection.ts";
import { DeferredLink } from "../../connection/deferred-link.ts";
import type { Link } from "../../protocol/link.ts";
import { isRelative } from "../../protocol/url.ts";
import { connectionFailed, webSocketUrl } from "./address.ts";
import type { WebSocketConnectOptions, WebSocketLinkOptions } from "./link-options.ts";

/**
 * Resolves when the connection is open. Browsers do not say why connecting failed, and cannot ping, so only the
 * server detects a dead connection.
 * @example
 * ```ts
 * import { connectWebSocket } from "callwire/ws";
 *
 * // `service` answers what the server calls on this client.
 * const connection = await connectWebSocket("ws://127.0.0.1:8000/rpc/ws", { service: server });
 * console.log(await connection.call("math/add", { a: 2, b: 3 }));
 * connection.close();
 * ```
 */
export async function connectWebSocket(
  address: string | URL,
  options: WebSocketConnectOptions = {},
): Promise<Connection> {
  const url = webSocketUrl(address, options.baseUrl);
  return (await load(url)).openNative(url, options);
}

/**
 * A link over the platform's WebSocket; it connects with the first call.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { webSocketLink } from "callwire/ws";
 *
 * const client = createClient<typeof methods>(webSocketLink("ws://127.0.0.1:8000/rpc/ws"));
 * for await (const n of client.api.math.count({ to: 3 })) console.log(n);
 * ```
 */
export function webSocketLink(address: string | URL, options: WebSocketLinkOptions = {}): Link {
  if (!isRelative(address)) webSocketUrl(address, options.baseUrl);
  return new DeferredLink(async () => {
    const url = webSocketUrl(address, options.baseUrl);
    return (await load(url)).nativeLink(url, options);
  }, `${address}`);
}

/** Most code of a link is loaded when it connects, so that a page starts without it. */
function load(url: URL): Promise<typeof import("./native-connection.ts")> {
  return import("./native-connection.ts").catch((cause: unknown) => {
    throw connectionFailed(url, "was not contacted: a module of callwire could not be loaded", {
      cause,
    });
  });
}
