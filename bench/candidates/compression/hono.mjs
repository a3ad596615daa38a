import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { recordsReply } from "../../records.mjs";

export default async () => {
  const app = new Hono();
  app.use(compress());
  app.post("/rpc", async (context) => {
    const message = await context.req.json();
    return context.body(recordsReply(message), 200, { "content-type": "application/json" });
  });
  const port = await new Promise((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, (address) => resolve(address.port));
  });
  return { port, path: "/rpc" };
};
