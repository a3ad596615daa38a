import { connect as connectTcp, isIP, type Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { defaultConnectTimeoutMs } from "../../protocol/defaults.ts";

/** Opens a connection, or calls back with the reason why not. */
export type Connector = (opened: (error: Error | undefined, socket: Socket) => void) => Socket;

const tcpKeepAliveMs = 60_000;

/** Opens connections to one server, with TLS if its URL says so. */
export async function connectorOf(url: URL, options: ConnectionOptions = {}): Promise<Connector> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isSecure = url.protocol === "https:";
  const port = Number(url.port) || (isSecure ? 443 : 80);
  if (!isSecure) return connecting(() => connectTcp({ host, port }), "connect");
  const { connect } = await import("node:tls");
  const servername = options.servername ?? (isIP(host) === 0 ? host : "");
  let session: Buffer | undefined;
  const open = () => {
    const socket = connect({
      ...options,
      host,
      port,
      servername,
      ALPNProtocols: ["http/1.1"],
      ...(session && { session }),
    });
    // Later connections resume the session, which saves a signature.
    socket.on("session", (next: Buffer) => {
      session = next;
    });
    return socket;
  };
  return connecting(open, "secureConnect");
}

function connecting(open: () => Socket, event: "connect" | "secureConnect"): Connector {
  return (opened) => {
    const socket = open();
    socket.setNoDelay(true);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    const timer = setTimeout(() => {
      socket.destroy(new Error(`connecting took longer than ${defaultConnectTimeoutMs} ms`));
    }, defaultConnectTimeoutMs);
    const settle = (error: Error | undefined): void => {
      clearTimeout(timer);
      socket.off("error", settle);
      socket.off("close", close);
      opened(error, socket);
    };
    // A socket that is destroyed while it connects emits no error.
    const close = (): void => settle(new Error("the connection was closed before it was open"));
    socket.once("error", settle);
    socket.once("close", close);
    socket.once(event, () => settle(undefined));
    return socket;
  };
}
