import type { McpServer } from "callwire/mcp";
import { announce } from "./banner.ts";
import type { Flags } from "./command.ts";
import { drained, waitingFor } from "./draining.ts";
import { outliveReaders, toldToStop } from "./process-end.ts";
import { type Beside, type Mount, openWires, type wireOptions } from "./served-wires.ts";
import { counted } from "./terminal.ts";

/** Serves the agent that started this process, until it closes the input. */
export async function serveAgents(agents: McpServer): Promise<void> {
  const told = toldToStop();
  outliveReaders();
  const { serveMcpStdio } = await import("callwire/mcp");
  const stdio = serveMcpStdio(agents);
  // Hosts keep what a server says on stderr as its log, or show it as a fault.
  if (process.stderr.isTTY) {
    console.error(
      `callwire serves ${counted(agents.catalog.tools.size, "tool")} over MCP on stdio`,
    );
  }
  const signal = await Promise.race([told, stdio.closed]);
  // At the end of the input what ran was waited for.
  await agents.close(signal === undefined ? { drainMs: 0 } : {});
  process.exit(0);
}

/** Serves until the process is told to stop or its input ends, then lets running calls finish. */
export async function serveUntilStopped(
  mounts: readonly [Mount, ...Mount[]],
  flags: Flags<typeof wireOptions>,
  beside: Beside = {},
): Promise<void> {
  // Heard from the start: a signal that comes as soon as a port is open must not skip the end.
  const told = toldToStop();
  // With a reader that Ctrl-C ended too, such as `tee`, the calls that run still finish.
  outliveReaders();
  const wires = await openWires(mounts, flags, beside);
  const terminal = announce(mounts, wires, flags.stdio === true);
  const signal = await Promise.race([told, wires.inputEnded]);
  const hosts = mounts.flatMap(({ server, agents }) =>
    agents === undefined ? [server] : [server, agents],
  );
  if (signal !== undefined) {
    // Terminals show "^C" and stay on its line.
    if (signal === "SIGINT") terminal?.line();
    terminal?.line(waitingFor(hosts));
  }
  await drained(hosts);
  // Timers of the methods, such as those of a ticker, must not hold the process.
  process.exit(0);
}
