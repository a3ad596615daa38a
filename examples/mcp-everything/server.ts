import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts } from "callwire/mcp";
import { everything } from "./everything.ts";

const http = await serveHttp(createServer({}), {
  port: Number(process.env.PORT ?? 3000),
  mounts: mcpMounts(everything, { httpSsePath: "/sse" }),
});
console.log(`Listening on ${http.url.replace("/rpc", "/mcp")}`);
