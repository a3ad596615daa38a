import { initTRPC } from "@trpc/server";
import { applyWSSHandler } from "@trpc/server/adapters/ws";
import { WebSocketServer } from "ws";
import { webSocketPort } from "../listening.mjs";

export default async () => {
  const t = initTRPC.create();
  const router = t.router({
    add: t.procedure.input((value) => value).mutation(({ input: [a, b] }) => a + b),
  });
  const wss = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  applyWSSHandler({ wss, router });
  return { port: await webSocketPort(wss), dialect: "trpc" };
};
