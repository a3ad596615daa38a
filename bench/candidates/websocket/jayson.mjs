import jayson from "jayson";
import { WebSocketServer } from "ws";
import { webSocketPort } from "../listening.mjs";

export default async () => {
  const wss = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  new jayson.Server({ add: ([a, b], done) => done(null, a + b) }).websocket({ wss });
  return { port: await webSocketPort(wss) };
};
