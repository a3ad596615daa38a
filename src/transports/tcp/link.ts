import { reconnecting } from "../../connection/reconnect.ts";
import type { ReconnectOptions } from "../../connection/reconnect-options.ts";
import type { Link } from "../../protocol/link.ts";
import { wrongAddress } from "../../protocol/url.ts";
import { type ConnectOptions, connectSocket, mustHaveOneTarget } from "./connect.ts";

export interface SocketLinkOptions extends ConnectOptions {
  /** How a broken connection is restored; false never reconnects. @default true */
  readonly reconnect?: ReconnectOptions | boolean | undefined;
}

export type UnixLinkOptions = Omit<SocketLinkOptions, "host" | "port" | "path" | "signal">;

/**
 * Calls over one TCP or TLS connection, opened by the first call: `tcpLink("tcp://localhost:9000")` or `tcpLink({
 * host, port })`. Options may be given with the port or as the second argument, which wins.
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
  // `tls: undefined` must not turn off TLS that the address asks for.
  const own: SocketLinkOptions = { ...given, ...options, tls: options.tls ?? tls };
  mustHaveOneTarget(own);
  const link = reconnecting((signal) => connectSocket({ ...own, signal }), own.reconnect);
  return Object.assign(link, { address: addressOf(own) });
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

function addressOf({ host = "localhost", port, path }: SocketLinkOptions): string {
  if (path !== undefined) return `unix:${path}`;
  return `tcp://${host.includes(":") ? `[${host}]` : host}:${port}`;
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
