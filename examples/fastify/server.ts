import { createServer } from "callwire";
import { nodeHandler } from "callwire/http/node";
import fastify from "fastify";
import { methods } from "../quickstart/methods.ts";

const app = fastify();
app.get("/", () => "An ordinary Fastify page");

// In its own scope, so that other routes keep Fastify's parser.
await app.register((scope, _options, done) => {
  const handle = nodeHandler(createServer(methods));
  // callwire reads the body, because it has its own limits.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, ready) => ready(null));
  scope.all("/rpc", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
  done();
});

const origin = await app.listen({ port: Number(process.env.PORT ?? 8000), host: "127.0.0.1" });
console.log(`Listening on ${origin}/rpc`);
