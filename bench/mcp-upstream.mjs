/** The server that every MCP client calls; it costs all clients the same. */
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts } from "callwire/mcp";
import { addServer } from "./candidates/mcp-add.mjs";
import { answering } from "./processes.mjs";

answering({
  async start() {
    const mounts = mcpMounts(addServer());
    const { port } = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
    return { port };
  },
});
