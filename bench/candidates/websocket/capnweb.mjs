import { newWebSocketRpcSession, RpcTarget } from "capnweb";
import { WebSocket, WebSocketServer } from "ws";
import { webSocketPort } from "../listening.mjs";

// capnweb reads constants of the global class, which Node has from version 22 on.
globalThis.WebSocket ??= WebSocket;

class Api extends RpcTarget {
  add(a, b) {
    return a + b;
  }
}

export default async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => newWebSocketRpcSession(socket, new Api()));
  return { port: await webSocketPort(server), dialect: "capnweb" };
};
