import { fileURLToPath } from "node:url";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpGateway, mcpMounts } from "callwire/mcp";
import { mcpStdioLink } from "callwire/mcp/client";
import { inSession } from "../mcp-request.mjs";

export default async () => {
  const behind = fileURLToPath(new URL("behind.mjs", import.meta.url));
  // Without a prefix the tool has the same name as in the server that answers itself.
  const upstream = { link: mcpStdioLink(process.execPath, [behind]), prefix: "" };
  const mounts = mcpMounts(mcpGateway({ upstream }, { name: "gateway", version: "1" }));
  const { port } = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
  return inSession(port, "/mcp");
};
