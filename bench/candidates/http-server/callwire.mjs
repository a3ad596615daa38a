import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";

export default async () => {
  const server = createServer({ add: (a, b) => a + b, echo: (message) => message });
  const { port } = await serveHttp(server, { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc" };
};
