import type { McpServer } from "callwire/mcp";
import { announce } from "./banner.ts";
import type { Flags } from "./command.ts";
import { toldToStop } from "./stop.ts";
import { type Beside, type Mount, openWires, type wireOptions } from "./wires.ts";

/** Serves the agent that started this process, until it closes the input. */
export async function serveAgents(agents: McpServer): Promise<void> {
  const told = toldToStop();
  const { serveMcpStdio } = await import("callwire/mcp");
  const stdio = serveMcpStdio(agents);
  console.error(`callwire serves ${agents.catalog.tools.size} tools over MCP on stdio`);
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
  const wires = await openWires(mounts, flags, beside);
  const terminal = announce(mounts, wires, flags.stdio === true);
  const signal = await Promise.race([told, wires.inputEnded]);
  if (signal !== undefined) {
    const running = mounts.reduce((sum, { server }) => sum + server.running.size, 0);
    // Terminals show "^C" and stay on its line.
    if (signal === "SIGINT") terminal.line();
    terminal.line(running === 0 ? "Stopping." : `Stopping; ${waitingFor(running)}`);
  }
  await Promise.all(mounts.flatMap(({ server, agents }) => [agents?.close(), server.close()]));
  // Timers of the methods, such as those of a ticker, must not hold the process.
  process.exit(0);
}

function waitingFor(calls: number): string {
  const what = calls === 1 ? "1 call" : `${calls} calls`;
  return `waiting up to 10 s for ${what}. Ctrl-C again stops at once.`;
}
