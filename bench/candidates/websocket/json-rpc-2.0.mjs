import { JSONRPCServer } from "json-rpc-2.0";
import { WebSocketServer } from "ws";
import { webSocketPort } from "../listening.mjs";

export default async () => {
  const rpc = new JSONRPCServer();
  rpc.addMethod("add", ([a, b]) => a + b);
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => {
    socket.on("message", async (data) => {
      socket.send(JSON.stringify(await rpc.receiveJSON(data.toString())));
    });
  });
  return { port: await webSocketPort(server) };
};
