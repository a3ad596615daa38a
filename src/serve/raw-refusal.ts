import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import {
  badRequest,
  bodyTimeout,
  headersTooLarge,
  type Refusal,
} from "../transports/http/status.ts";

/** Answers on a socket that has no response object, and closes it. */
export function writeRefusal(socket: Duplex, { status, body, headers }: Refusal): void {
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}

/** What Node found wrong with what a client sends; undefined when there is nobody to tell. */
export function clientErrorRefusal(
  error: Error & { code?: string },
  socket: Duplex,
): Refusal | undefined {
  if (error.code === "ECONNRESET" || !socket.writable) return undefined;
  const { _httpMessage: pending } = socket as { _httpMessage?: ServerResponse | null };
  // The answer to an earlier request is still due, and this one must not be taken for it.
  if (pending && (pending.headersSent || pending.req.complete)) return undefined;
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return bodyTimeout;
    case "HPE_HEADER_OVERFLOW":
      return headersTooLarge;
    default:
      return badRequest;
  }
}
