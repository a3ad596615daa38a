import { WebSocketServer } from "ws";
import { answerText } from "../dispatch.mjs";
import { webSocketPort } from "../listening.mjs";

export default async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.on("connection", (socket) => {
    socket.on("message", (data) => socket.send(answerText(data.toString())));
  });
  return { port: await webSocketPort(server) };
};
