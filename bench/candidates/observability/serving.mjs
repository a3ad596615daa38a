import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";

/** The methods of the suite over HTTP, behind this middleware. */
export async function serving(use) {
  const server = createServer({ add: (a, b) => a + b, echo: (message) => message }, { use });
  const { port } = await serveHttp(server, { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc" };
}
