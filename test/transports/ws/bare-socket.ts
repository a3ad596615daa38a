import { createHash } from "node:crypto";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { turn } from "./serving.ts";

/** A frame of up to 65,535 bytes; the key of a masked one changes nothing. */
export function frame(kind: number, payload: string, masked: boolean): Buffer {
  const bytes = Buffer.from(payload, "latin1");
  const { length } = bytes;
  const size = length < 126 ? [length] : [126, length >> 8, length & 0xff];
  if (masked) size[0] = (size[0] as number) | 0x80;
  return Buffer.concat([Buffer.from([kind, ...size, ...(masked ? [0, 0, 0, 0] : [])]), bytes]);
}

export const handshake =
  "GET /rpc/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: Y2FsbHdpcmUgYmVuY2ghIQ==\r\n\r\n";

/** Reads frames of up to 65,535 bytes. */
export class FrameReader {
  readonly #waiting: { readonly kind: number; readonly resolve: (payload: string) => void }[] = [];
  #rest: Buffer = Buffer.alloc(0);
  /** The code of the close frame, or undefined if the socket was closed without one. */
  readonly closed: Promise<number | undefined>;

  constructor(socket: Socket) {
    let close = (_code: number | undefined): void => {};
    this.closed = new Promise((resolve) => {
      close = resolve;
    });
    socket.once("close", () => close(undefined));
    socket.on("data", (chunk: Buffer) => {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      for (let next = this.#next(); next !== undefined; next = this.#next()) {
        const { kind, payload } = next;
        if (kind === 0x88) close(payload.readUInt16BE(0));
        const at = this.#waiting.findIndex((one) => one.kind === kind);
        if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(payload.toString("latin1"));
      }
    });
  }

  /** The payload of the next frame of this kind. */
  frame(kind: number): Promise<string> {
    return new Promise((resolve) => this.#waiting.push({ kind, resolve }));
  }

  #next(): { kind: number; payload: Buffer } | undefined {
    const bytes = this.#rest;
    if (bytes.length < 4 && bytes.length < 2 + ((bytes[1] ?? 127) & 0x7f)) return undefined;
    const [kind = 0, size = 0] = bytes;
    const isLong = (size & 0x7f) === 126;
    const length = isLong ? bytes.readUInt16BE(2) : size & 0x7f;
    const keyAt = isLong ? 4 : 2;
    const start = keyAt + (size & 0x80 ? 4 : 0);
    if (bytes.length < start + length) return undefined;
    this.#rest = bytes.subarray(start + length);
    const payload = Buffer.from(bytes.subarray(start, start + length));
    if (start > keyAt) {
      for (let i = 0; i < length; i++)
        payload[i] = (payload[i] as number) ^ (bytes[keyAt + (i & 3)] as number);
    }
    return { kind, payload };
  }
}

/** A client that has completed the handshake and sends nothing. */
export async function upgraded(port: number): Promise<Socket> {
  const socket = connectSocket(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(handshake);
  await heard(socket, "\r\n\r\n");
  return socket;
}

/** Resolves when this text has arrived on the socket. */
export function heard(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve) => {
    let all = "";
    const listen = (chunk: Buffer): void => {
      all += chunk.toString("latin1");
      if (!all.includes(text)) return;
      socket.off("data", listen);
      resolve();
    };
    socket.on("data", listen);
  });
}

/** Everything that arrives on a socket until it ends. */
export function ended(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  return new Promise((resolve) => socket.once("close", () => resolve(Buffer.concat(chunks))));
}

/** A server that completes handshakes and passes on the sockets. */
export async function acceptingServer(): Promise<{ url: string; accepted: Promise<Socket> }> {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => {
    server.on("connection", (socket) => {
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      socket.once("data", (request: Buffer) => {
        const [, key] = /sec-websocket-key: (.*)\r\n/i.exec(request.toString()) ?? [];
        const seen = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
            `Sec-WebSocket-Accept: ${seen.digest("base64")}\r\n\r\n`,
        );
        resolve(socket);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, accepted };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await turn();
}
