import { createServer } from "callwire";
import { methods } from "../../../examples/demo/methods.ts";
import { defineCommand, version } from "../command.ts";
import { refuseExtra } from "../command-arguments.ts";
import { guardOptions, guardsOf, serverTlsOf } from "../guard-options.ts";
import { logFormatOf, logIn, logOption, warningsOf } from "../log-format.ts";
import { metricsOf, refuseWithoutHttp, wireOptions } from "../served-wires.ts";
import { serveUntilStopped } from "../serving.ts";
import { runWorkers, startsWorkers, workerOptions } from "../serving-workers.ts";

const { workers } = workerOptions;

export const command = defineCommand({
  usage: "[options]",
  options: { ...wireOptions, ...logOption, workers, ...guardOptions },
  examples: [
    ["callwire demo", "HTTP, WebSocket, SSE and the playground on port 8000"],
    ["callwire demo --port 0 --tcp 9000 --unix /tmp/callwire.sock", "also on sockets"],
    ["callwire demo --stdio --framing content-length", "the way an editor starts a server"],
  ],
  async run(given, positionals) {
    refuseExtra("demo", positionals[0]);
    const flags = { ...given, watch: undefined, metrics: true };
    const { use: counting, pages } = await metricsOf(flags);
    const log = logIn(logFormatOf(flags.log));
    if (startsWorkers(flags)) {
      await runWorkers(flags, undefined, log, { pages });
      return;
    }
    refuseWithoutHttp(given);
    const use = [...counting, ...(await guardsOf(flags))];
    const tls = await serverTlsOf(flags);
    const options = {
      use,
      discover: { title: "callwire demo", version },
      log: warningsOf(log),
    };
    const server = createServer(methods, options);
    const hasHttp = flags.stdio !== true || flags.port !== undefined;
    const agents = hasHttp
      ? (await import("callwire/mcp")).mcpServer(server, { name: "callwire demo", version })
      : undefined;
    await serveUntilStopped(
      [
        { path: "/rpc", server, versions: "JSON-RPC 2.0", ...(agents && { agents }) },
        {
          path: "/jsonrpc",
          server: createServer(methods, { ...options, versions: ["1.0", "2.0"] }),
          versions: "JSON-RPC 1.0 and 2.0",
        },
      ],
      flags,
      { pages, playground: true, ...(tls && { tls }) },
    );
  },
});
