import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { fetchHandler } from "callwire/http";
import { wsUpgrade } from "callwire/ws/node";
import { Hono } from "hono";
import type { Mount } from "./mount.ts";

export const mountHono: Mount = async ({ server }, page, port) => {
  const app = new Hono();
  for (const [path, { type, body }] of page) {
    app.get(path, (c) => c.body(body, 200, { "content-type": type }));
  }
  const handle = fetchHandler(server);
  // The environment has the address of the client, which limits per address need.
  app.all("/rpc", (c) => handle(c.req.raw, c.env));
  const listening = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }) as Server;
  const upgrade = wsUpgrade(server, { path: "/rpc" });
  listening.on("upgrade", upgrade);
  if (!listening.listening) await once(listening, "listening");
  return {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`,
    async close() {
      await upgrade.close();
      listening.close();
      listening.closeAllConnections();
    },
  };
};
