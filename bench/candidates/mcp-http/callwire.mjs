import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts } from "callwire/mcp";
import { addServer } from "../mcp-add.mjs";
import { inSession } from "../mcp-request.mjs";

export default async () => {
  const mounts = mcpMounts(addServer());
  const { port } = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
  return inSession(port, "/mcp");
};
