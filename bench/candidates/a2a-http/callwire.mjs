import { createServer } from "callwire";
import { a2aAgent } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { asked } from "../a2a-request.mjs";

export default async () => {
  const agent = a2aAgent({
    card: { name: "Echo", description: "Repeats what it is told" },
    async *execute({ text }) {
      yield text;
    },
  });
  const mounts = a2aMounts(agent);
  const { port } = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
  return asked(port, "/a2a");
};
