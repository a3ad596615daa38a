import { createServer } from "node:http";
import { os } from "@orpc/server";
import { RPCHandler } from "@orpc/server/node";
import { foreign } from "../../workloads.mjs";
import { listening } from "../listening.mjs";

export default async () => {
  const handler = new RPCHandler({
    add: os.handler(({ input: [a, b] }) => a + b),
    echo: os.handler(({ input }) => input),
  });
  const server = createServer(async (request, response) => {
    const { matched } = await handler.handle(request, response);
    if (!matched) response.writeHead(404).end();
  });
  const request = (path, { input, result }) => ({
    path,
    text: JSON.stringify({ json: input }),
    reply: { json: result },
  });
  return {
    port: await listening(server),
    requests: {
      add: request("/add", foreign.add),
      "echo 1 KiB": request("/echo", foreign["echo 1 KiB"]),
    },
  };
};
