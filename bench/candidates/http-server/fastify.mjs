import fastify from "fastify";
import { answerMessage } from "../dispatch.mjs";

export default async () => {
  const app = fastify({ logger: false });
  app.post("/rpc", (request, reply) => {
    reply.header("content-type", "application/json").send(answerMessage(request.body));
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: app.server.address().port, path: "/rpc" };
};
