import { createServer } from "callwire";
import { a2aMounts, webhooks } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { tckAgent } from "./agent.ts";

const agent = tckAgent({ push: webhooks({ allow: ["localhost", "127.0.0.1", "example.com"] }) });
const http = await serveHttp(createServer({}), {
  port: Number(process.env.PORT ?? 8000),
  mounts: a2aMounts(agent),
});
console.log(`Listening on ${http.url.replace("/rpc", "/a2a")}`);
process.once("SIGTERM", () => agent.close().then(() => http.close()));
