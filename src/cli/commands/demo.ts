import { createServer } from "callwire";
import { createMetrics, metricsPage } from "callwire/observability";
import { methods } from "../../../examples/demo/methods.ts";
import { defineCommand, version } from "../command.ts";
import { refuseExtra } from "../command-arguments.ts";
import { refuseWithoutHttp, wireOptions } from "../served-wires.ts";
import { serveUntilStopped } from "../serving.ts";

export const command = defineCommand({
  usage: "[options]",
  options: wireOptions,
  examples: [
    ["callwire demo", "HTTP, WebSocket, SSE and the playground on port 8000"],
    ["callwire demo --port 0 --tcp 9000 --unix /tmp/callwire.sock", "also on sockets"],
    ["callwire demo --stdio --framing content-length", "the way an editor starts a server"],
  ],
  async run(flags, positionals) {
    refuseExtra("demo", positionals[0]);
    refuseWithoutHttp(flags);
    const metrics = createMetrics();
    const use = [metrics.middleware];
    const discover = { title: "callwire demo", version };
    const server = createServer(methods, { use, discover });
    const hasHttp = flags.stdio !== true || flags.port !== undefined;
    const agents = hasHttp
      ? (await import("callwire/mcp")).mcpServer(server, { name: "callwire demo", version })
      : undefined;
    await serveUntilStopped(
      [
        { path: "/rpc", server, versions: "JSON-RPC 2.0", ...(agents && { agents }) },
        {
          path: "/jsonrpc",
          server: createServer(methods, { use, discover, versions: ["1.0", "2.0"] }),
          versions: "JSON-RPC 1.0 and 2.0",
        },
      ],
      flags,
      { pages: { "/metrics": metricsPage(metrics) }, playground: true },
    );
  },
});
