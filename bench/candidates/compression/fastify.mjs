import compress from "@fastify/compress";
import fastify from "fastify";
import { recordsReply } from "../../records.mjs";

export default async () => {
  const app = fastify({ logger: false });
  await app.register(compress);
  app.post("/rpc", (request, reply) => {
    reply.header("content-type", "application/json").send(recordsReply(request.body));
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: app.server.address().port, path: "/rpc" };
};
