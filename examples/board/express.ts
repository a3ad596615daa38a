import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "callwire/http/node";
import { wsUpgrade } from "callwire/ws/node";
import express from "express";
import type { Mount } from "./mount.ts";

export const mountExpress: Mount = async ({ server }, page, port) => {
  const app = express();
  for (const [path, { type, body }] of page) {
    app.get(path, (_request, response) => void response.type(type).send(body));
  }
  app.use("/rpc", nodeHandler(server));
  const listening = app.listen(port, "127.0.0.1");
  const upgrade = wsUpgrade(server, { path: "/rpc" });
  listening.on("upgrade", upgrade);
  await once(listening, "listening");
  return {
    url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`,
    async close() {
      await upgrade.close();
      listening.close();
      listening.closeAllConnections();
    },
  };
};
