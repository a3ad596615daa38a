import { ErrorCode, type Host } from "callwire";
import { counted } from "./terminal.ts";

/** How long calls may take to finish, as `server.close` has it. */
const callsMs = 10_000;
/** The same for streams: most have no end of their own, and nobody wants to wait for that. */
const streamsMs = 1000;

const cutShort = {
  code: ErrorCode.ShuttingDown,
  message: "Server is shutting down",
  data: "the call was ended before it was done",
};

type Draining = Pick<Host, "running" | "close">;
type Call = ReturnType<Host["running"]["list"]>[number];

/** A call without a deadline may last for ever; such are streams. */
function streamsOf(hosts: readonly Draining[]): Call[] {
  return hosts.flatMap(({ running }) => running.list().filter(({ dueAt }) => dueAt === undefined));
}

function callsOf(hosts: readonly Draining[]): number {
  return hosts.reduce((sum, { running }) => sum + running.size, 0) - streamsOf(hosts).length;
}

/** What is waited for, in a sentence. */
export function waitingFor(hosts: readonly Draining[]): string {
  const [calls, streams] = [callsOf(hosts), streamsOf(hosts).length];
  const parts = [
    ...(calls === 0 ? [] : [`waiting up to ${callsMs / 1000} s for ${counted(calls, "call")}`]),
    ...(streams === 0 ? [] : [`ending ${counted(streams, "stream")} in ${streamsMs / 1000} s`]),
  ];
  return parts.length === 0
    ? "Stopping."
    : `Stopping; ${parts.join(", ")}. Ctrl-C again stops at once.`;
}

/** Refuses new calls, lets those that run finish, ends streams soon, and closes the wires. */
export async function drained(hosts: readonly Draining[]): Promise<void> {
  const drainMs = callsOf(hosts) === 0 ? streamsMs : callsMs;
  const late = setTimeout(() => {
    for (const call of streamsOf(hosts)) call.end?.(cutShort);
  }, streamsMs);
  await Promise.all(hosts.map((host) => host.close({ drainMs })));
  clearTimeout(late);
}
