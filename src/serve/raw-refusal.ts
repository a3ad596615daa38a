import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, bodyTimeout, headersTooLarge, type Refusal } from "../http/refusal.ts";

/** Sends a refusal, or the answer to a probe, as a response. */
export function respond(response: ServerResponse, { status, body, headers }: Refusal): void {
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
    ...(status === 503 ? { Connection: "close" } : undefined),
  });
  response.end(body);
}

/** Answers on a socket that has no response object, and closes it. */
export function writeRefusal(socket: Duplex, refusal: Refusal): void {
  socket.once("finish", () => socket.destroy());
  socket.end(rawRefusal(refusal));
}

/** A refusal as bytes of HTTP. */
export function rawRefusal({ status, body, headers }: Refusal): string {
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`;
}

/** The response that a connection is busy with; Node has no public way to ask, so a test checks that this one works. */
export function responseOn(socket: Duplex): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** The response to what Node could not parse; undefined if none can be sent. */
export function clientErrorRefusal(
  error: Error & { code?: string },
  socket: Duplex,
): Refusal | undefined {
  if (error.code === "ECONNRESET" || !socket.writable) return undefined;
  const pending = responseOn(socket);
  // The response to an earlier request is still due, and this one must not be taken for it.
  if (pending !== undefined && (pending.headersSent || pending.req.complete)) return undefined;
  switch (error.code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return bodyTimeout;
    case "HPE_HEADER_OVERFLOW":
      return headersTooLarge;
    default:
      return badRequest;
  }
}
