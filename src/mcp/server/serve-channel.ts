import type { Channel } from "../../connection/channel.ts";
import { Connection } from "../../connection/connection.ts";
import type { ConnectionOptions } from "../../connection/connection-options.ts";
import { mcpNotices } from "../notices.ts";
import type { McpServer } from "./mcp-server.ts";

export interface ServeMcpChannelOptions
  extends Omit<ConnectionOptions, "service" | "transport" | "notices"> {
  /** What handlers see as `call.transport`. @default the kind "mcp", without headers and address */
  readonly transport?: ConnectionOptions["transport"] | undefined;
}

/**
 * Serves one client on a duplex channel of your own, such as a WebSocket or a data channel of WebRTC. It
 * lasts as long as the channel; `closed` of the connection says when that ends.
 * @example
 * ```ts
 * import { memoryChannels } from "callwire/connection";
 * import { mcpServer, serveMcpChannel } from "callwire/mcp";
 * import { mcpChannelLink, mcpClient } from "callwire/mcp/client";
 *
 * const agents = mcpServer(methods, { name: "calculator", version: "1.0.0" });
 * const open = () => {
 *   const [near, far] = memoryChannels();
 *   serveMcpChannel(agents, far);
 *   return near;
 * };
 * const client = mcpClient(mcpChannelLink(open), { name: "my-host", version: "1.0.0" });
 * ```
 */
export function serveMcpChannel(
  server: McpServer,
  channel: Channel,
  options: ServeMcpChannelOptions = {},
): Connection {
  const { transport = { kind: "mcp", headers: {}, remoteAddress: undefined } } = options;
  const connection = new Connection(channel, {
    ...options,
    service: server,
    transport,
    notices: mcpNotices,
  });
  remember(server, connection);
  return connection;
}

/** The open connections of each server, which closes them. */
const open = new WeakMap<McpServer, Set<Connection>>();

function remember(server: McpServer, connection: Connection): void {
  let connections = open.get(server);
  if (connections === undefined) {
    const all = new Set<Connection>();
    open.set(server, all);
    server.onClose(() => Promise.all(Array.from(all, (each) => each.close())));
    connections = all;
  }
  connections.add(connection);
  void connection.closed.then(() => connections.delete(connection));
}
