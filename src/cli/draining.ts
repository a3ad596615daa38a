import { cutShort, defaultDrainMs, type Host } from "callwire";
import { counted } from "./terminal.ts";

/** How long streams may continue; most do not end by themselves. */
const streamsMs = 1000;

type Draining = Pick<Host, "running" | "close">;
type Call = ReturnType<Host["running"]["list"]>[number];

/** Streams are the calls without a deadline. */
function streamsOf(hosts: readonly Draining[]): Call[] {
  return hosts.flatMap(({ running }) => running.list().filter(({ dueAt }) => dueAt === undefined));
}

function callsOf(hosts: readonly Draining[]): number {
  return hosts.reduce((sum, { running }) => sum + running.size, 0) - streamsOf(hosts).length;
}

export function waitingFor(hosts: readonly Draining[]): string {
  const [calls, streams] = [callsOf(hosts), streamsOf(hosts).length];
  const parts = [
    ...(calls === 0
      ? []
      : [`waiting up to ${defaultDrainMs / 1000} s for ${counted(calls, "call")}`]),
    ...(streams === 0 ? [] : [`ending ${counted(streams, "stream")} in ${streamsMs / 1000} s`]),
  ];
  return parts.length === 0
    ? "Stopping."
    : `Stopping; ${parts.join(", ")}. Press Ctrl-C again to stop now.`;
}

export function sayStopping(
  signal: NodeJS.Signals,
  hosts: readonly Draining[],
  isJson: boolean,
  say: (line: string) => void,
): void {
  // Terminals print "^C" and leave the cursor behind it.
  if (signal === "SIGINT" && !isJson) say("");
  say(waitingFor(hosts));
}

/** How long running calls may take. After the end of stdin the calls of all wires share one time, which begins there. */
export function drainMsOf(hosts: readonly Draining[], sinceMs = performance.now()): number {
  if (callsOf(hosts) === 0) return streamsMs;
  return Math.max(streamsMs, defaultDrainMs - (performance.now() - sinceMs));
}

/** Refuses new calls, waits for running ones, ends streams after a second, and closes the wires. */
export async function drained(
  hosts: readonly Draining[],
  drainMs = drainMsOf(hosts),
): Promise<void> {
  const late = setTimeout(() => {
    for (const call of streamsOf(hosts)) call.end?.(cutShort);
  }, streamsMs);
  await Promise.all(hosts.map((host) => host.close({ drainMs })));
  clearTimeout(late);
}
