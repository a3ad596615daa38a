import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

const hopByHop = new Set(["upgrade", "connection", "http2-settings"]);

/**
 * Handles the request without the upgrade, which a server may always do. Java's client, for example,
 * offers HTTP/2 with every request, and Node emits every offer as an upgrade if there is a listener.
 */
export function ignoreUpgrade(
  server: Server,
  event: "connection" | "secureConnection",
  request: IncomingMessage,
  socket: Duplex,
  rest: Buffer,
): void {
  const { method, url, rawHeaders } = request;
  let head = `${method} ${url} HTTP/1.1\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (!hopByHop.has(name.toLowerCase())) head += `${name}: ${rawHeaders[i + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), rest]));
  server.emit(event, socket);
}
