import type { McpServer } from "callwire/mcp";
import { announce } from "./banner.ts";
import type { Flags } from "./command.ts";
import { drained, drainMsOf, sayStopping } from "./draining.ts";
import { logIn } from "./log-format.ts";
import { ignoreOutputErrors, untilSignal } from "./process-end.ts";
import { type HttpExtras, type Mount, openWires, type wireOptions } from "./served-wires.ts";
import { announces, isWorker } from "./serving-workers.ts";
import { counted } from "./terminal.ts";

/** Serves the agent that started this process, until stdin closes. */
export async function serveAgents(
  agents: McpServer,
  what = `serves ${counted(agents.catalog.tools.size, "tool")}`,
): Promise<void> {
  const stopping = untilSignal();
  ignoreOutputErrors();
  const { serveMcpStdio } = await import("callwire/mcp");
  const stdio = serveMcpStdio(agents);
  // Agents treat stderr as a log, or show it as an error.
  if (process.stderr.isTTY) console.error(`callwire ${what} over MCP on stdio`);
  const signal = await Promise.race([stopping, stdio.closed]);
  // At the end of stdin, every call is answered already; one that ignores its signal is not waited for.
  await agents.close(signal === undefined ? { drainMs: 0 } : {});
  process.exit(0);
}

/** Serves until a signal or the end of stdin, then waits for running calls. */
export async function serveUntilStopped(
  mounts: readonly [Mount, ...Mount[]],
  flags: Flags<typeof wireOptions> & {
    readonly "tls-cert"?: string | undefined;
    readonly log?: string | undefined;
  },
  extras: HttpExtras = {},
): Promise<void> {
  // Handled before a port is open, so that an early signal still shuts down properly.
  const stopping = untilSignal();
  // Running calls must finish even if Ctrl-C also ended a reader such as `tee`.
  ignoreOutputErrors();
  const wires = await openWires(mounts, flags, { ...extras, isWorker: isWorker(flags) });
  const { "tls-cert": file } = flags;
  const certificate =
    extras.tls === undefined || file === undefined ? undefined : { file, pem: extras.tls.cert };
  const say = announces(flags)
    ? announce(mounts, wires, {
        isStdio: flags.stdio === true,
        certificate,
        log: flags.log === "json" ? logIn("json") : undefined,
      })
    : undefined;
  const stop = await Promise.race([stopping, wires.inputEnded]);
  const [signal, endedAt] = typeof stop === "number" ? [undefined, stop] : [stop];
  const hosts = mounts.flatMap(({ server, agents }) =>
    agents === undefined ? [server] : [server, agents],
  );
  // The primary process says it for its workers.
  if (signal !== undefined && say !== undefined && !isWorker(flags))
    sayStopping(signal, hosts, flags.log === "json", say);
  // The end of stdin answers the calls of stdin only.
  const isOver = signal === undefined && wires.origin === undefined && wires.sockets.length === 0;
  await drained(hosts, isOver ? 0 : drainMsOf(hosts, endedAt));
  // Timers of methods must not keep the process alive.
  process.exit(0);
}
