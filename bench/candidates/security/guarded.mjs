/** One server for all candidates of the suite; only their guards differ. */
import { createServer, method } from "callwire";
import { serveHttp } from "callwire/http/node";
import { createApiKey } from "callwire/security/keys";

const principal = { id: "bench", roles: ["caller"] };
const { key, record } = createApiKey({ id: "bench", principal });

export const records = [record];

/** Every candidate gets the key, so that only checking it makes the difference. */
export async function guarded(options, definition = {}) {
  const methods = { add: method(definition, ([a, b]) => a + b) };
  const { port } = await serveHttp(createServer(methods, options), { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc", headers: ["Accept: application/json", `X-Api-Key: ${key}`] };
}
