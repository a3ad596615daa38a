/** The same payload over every wire that a stranger could use, written by hand. */
import { PassThrough } from "node:stream";
import type { Server } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveStdio } from "callwire/stdio";
import { serveSocket } from "callwire/tcp";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { send } from "../../transports/http/wire.ts";
import { RawSocket } from "../../transports/tcp/raw-socket.ts";

/** Sends one payload and returns the answer. */
export type Ask = (server: Server, payload: string) => Promise<string>;

export const wires: readonly (readonly [name: string, ask: Ask])[] = [
  [
    "HTTP",
    async (server, body) => {
      const { port } = await serveHttp(server, { port: 0 });
      return (await send(port, { body })).text;
    },
  ],
  [
    "WebSocket",
    async (server, payload) => {
      const { url } = await serveHttp(server, { port: 0 });
      const socket = new WebSocket(url.replace("http", "ws"));
      onTestFinished(() => socket.terminate());
      await new Promise((resolve) => socket.once("open", resolve));
      socket.send(payload);
      return new Promise((resolve) => socket.once("message", (data) => resolve(`${data}`)));
    },
  ],
  [
    "TCP",
    async (server, payload) => {
      const { port = 0 } = await serveSocket(server, { port: 0 });
      const [line = ""] = await new RawSocket({ port }).send(`${payload}\n`).lines(1);
      return line;
    },
  ],
  [
    "stdio",
    async (server, payload) => {
      const input = new PassThrough();
      const output = new PassThrough();
      let text = "";
      output.on("data", (chunk) => {
        text += chunk;
      });
      input.end(`${payload}\n`);
      await serveStdio(server, { input, output }).closed;
      return text.trimEnd();
    },
  ],
];
