import { type ReconnectOptions, reconnecting } from "../../connection/reconnect.ts";
import { wrongAddress } from "../../protocol/address.ts";
import type { Link } from "../../protocol/link.ts";
import { type ConnectOptions, connectSocket, mustHaveOneTarget } from "./connect.ts";

export interface SocketLinkOptions extends ConnectOptions {
  /** How a broken connection heals; false to let it rest. @default true */
  readonly reconnect?: ReconnectOptions | boolean | undefined;
}

export type UnixLinkOptions = Omit<SocketLinkOptions, "host" | "port" | "path" | "signal">;

/**
 * Calls over one TCP or TLS connection, made when it is first needed:
 * `tcpLink("tcp://localhost:9000")` or `tcpLink({ host, port })`. Options may stand with the port or
 * after it; those after it win.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { tcpLink } from "callwire/tcp";
 *
 * const client = createClient<typeof methods>(tcpLink("tcp://127.0.0.1:9000"));
 * console.log(await client.api.math.add({ a: 2, b: 3 }));
 * await client.close();
 * ```
 */
export function tcpLink(target: string | SocketLinkOptions, options: UnixLinkOptions = {}): Link {
  const { tls, ...given } = typeof target === "string" ? fromUrl(target) : target;
  // An option that is there but not set must not make calls travel in the open that were meant for TLS.
  const own: SocketLinkOptions = { ...given, ...options, tls: options.tls ?? tls };
  mustHaveOneTarget(own);
  return reconnecting((signal) => connectSocket({ ...own, signal }), own.reconnect);
}

/**
 * Calls over a unix socket or a Windows named pipe.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { unixLink } from "callwire/tcp";
 *
 * const client = createClient<typeof methods>(unixLink("/tmp/rpc.sock"));
 * console.log(await client.api.echo("hi"));
 * await client.close();
 * ```
 */
export function unixLink(path: string, options: UnixLinkOptions = {}): Link {
  return tcpLink({ ...options, path });
}

function fromUrl(text: string): ConnectOptions {
  const { protocol, hostname, port } = URL.canParse(text) ? new URL(text) : noUrl;
  if ((protocol !== "tcp:" && protocol !== "tls:") || hostname === "" || port === "") {
    throw wrongAddress("tcp://host:port or tls://host:port", text);
  }
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port),
    ...(protocol === "tls:" ? { tls: true } : undefined),
  };
}

const noUrl = { protocol: "", hostname: "", port: "" };
