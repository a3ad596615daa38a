import { nodeHandler } from "callwire/http/node";
import { wsUpgrade } from "callwire/ws/node";
import fastify from "fastify";
import type { Mount } from "./mount.ts";

export const mountFastify: Mount = async ({ server }, page, port) => {
  const app = fastify({ forceCloseConnections: true });
  for (const [path, { type, body }] of page) {
    app.get(path, (_request, reply) => reply.type(type).send(body));
  }
  // In its own scope, so that other routes keep Fastify's parser.
  await app.register((scope, _options, done) => {
    const handle = nodeHandler(server);
    // callwire reads the body, because it has its own limits.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _body, ready) => ready(null));
    scope.all("/rpc", (request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    });
    done();
  });
  const upgrade = wsUpgrade(server, { path: "/rpc" });
  app.server.on("upgrade", upgrade);
  const origin = await app.listen({ port, host: "127.0.0.1" });
  return {
    url: `${origin}/`,
    async close() {
      await upgrade.close();
      await app.close();
    },
  };
};
