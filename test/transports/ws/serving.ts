import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  createServer,
  type Methods,
  type Server,
  type ServerOptions,
  type Service,
  silentLog,
} from "callwire";
import { type WsUpgradeOptions, wsUpgrade } from "callwire/ws";
import { onTestFinished } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { Inbox } from "../contract.ts";

export interface Serving {
  readonly http: HttpServer;
  readonly port: number;
  readonly url: string;
  /** Closes every connection at once, without a closing message. */
  kill(): void;
}

export interface Served extends Serving {
  readonly server: Server;
}

/** Serves methods over WebSocket on a free port until the test is over. */
export async function serve(
  methods: Methods,
  options: WsUpgradeOptions & { readonly server?: ServerOptions } = {},
): Promise<Served> {
  const server = createServer(methods, { log: silentLog, ...options.server });
  const serving = await serveService(server, options);
  onTestFinished(serving.kill);
  return { server, ...serving };
}

export async function serveService(
  service: Service,
  options: WsUpgradeOptions = {},
): Promise<Serving> {
  const http = createHttpServer();
  const sockets = new Set<Socket>();
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  http.on("upgrade", wsUpgrade(service, options));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const kill = (): void => {
    http.close();
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return { http, port, url: `ws://127.0.0.1:${port}/rpc/ws`, kill };
}

export interface RawSocket {
  readonly ws: WebSocket;
  readonly inbox: Inbox;
  /** The code and reason with which the socket was closed. */
  readonly closed: Promise<[code: number, reason: string]>;
}

/** A client of the `ws` package, without callwire. */
export async function rawSocket(url: string, options: ClientOptions = {}): Promise<RawSocket> {
  const ws = new WebSocket(url, options);
  const inbox = new Inbox();
  ws.on("message", (data) => inbox.push(data.toString()));
  ws.on("error", () => {});
  const closed = new Promise<[number, string]>((resolve) => {
    ws.on("close", (code, reason) => {
      inbox.end();
      resolve([code, reason.toString()]);
    });
  });
  await new Promise<void>((resolve, reject) => {
    ws.once("open", resolve);
    ws.once("error", reject);
  });
  return { ws, inbox, closed };
}

/** The same, closed when the test is over. */
export async function rawClient(url: string): Promise<RawSocket> {
  const raw = await rawSocket(url);
  onTestFinished(() => raw.ws.terminate());
  return raw;
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
