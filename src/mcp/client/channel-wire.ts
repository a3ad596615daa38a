import type { Channel } from "../../connection/channel.ts";
import { Connection } from "../../connection/connection.ts";
import { reconnecting } from "../../connection/reconnect.ts";
import type { ReconnectOptions } from "../../connection/reconnect-options.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { Tap } from "../../protocol/tap.ts";
import type { ClientEnd, McpWire } from "./wire.ts";

export interface McpChannelLinkOptions {
  /** Whether and how a broken channel is reopened. @default true */
  readonly reconnect?: ReconnectOptions | boolean | undefined;
  /** Called with every message that is sent or received. */
  readonly tap?: Tap | undefined;
}

/**
 * MCP over a duplex channel of your own, such as one of `memoryChannels()`.
 * @example
 * ```ts
 * import { memoryChannels } from "callwire/connection";
 * import { mcpChannelLink, mcpClient } from "callwire/mcp/client";
 *
 * const [near, far] = memoryChannels(); // `far` goes to the server
 * const link = mcpChannelLink(() => near, { reconnect: false });
 * const client = mcpClient(link, { name: "my-host", version: "1.0.0" });
 * ```
 */
export function mcpChannelLink(
  open: () => MaybePromise<Channel>,
  options: McpChannelLinkOptions = {},
): McpWire {
  return {
    hasHeaders: false,
    open: ({ service, log, notices, greet, lost }) =>
      reconnecting(
        async () =>
          new Connection(await open(), {
            service,
            log,
            transport: { kind: "mcp", headers: {}, remoteAddress: undefined },
            notices,
            tap: options.tap,
          }),
        reconnectWithHandshake(options.reconnect, { greet, lost }),
      ),
  };
}

/** Adds the handshake, which comes before the user's own `onConnect`. */
export function reconnectWithHandshake(
  options: ReconnectOptions | boolean | undefined,
  { greet, lost }: Pick<ClientEnd, "greet" | "lost">,
): ReconnectOptions | false {
  if (options === false) return false;
  const given = typeof options === "object" ? options : {};
  return {
    ...given,
    async onConnect(connection) {
      await greet(connection);
      await given.onConnect?.(connection);
    },
    onLost(error) {
      lost();
      given.onLost?.(error);
    },
  };
}
