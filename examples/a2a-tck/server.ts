import { createServer } from "callwire";
import { a2aMounts, webhooks } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { tckAgent } from "./agent.ts";

const push = webhooks({ allow: ["localhost", "127.0.0.1", "example.com"] });
// The kit checks the card against the schema of 1.0, which has none of the members of 0.3.
const agent = tckAgent({ push, legacy: false });
const http = await serveHttp(createServer({}), {
  port: Number(process.env.PORT ?? 8000),
  mounts: a2aMounts(agent),
});
console.log(`Listening on ${http.url.replace("/rpc", "/a2a")}`);
process.once("SIGTERM", () => agent.close().then(() => http.close()));
