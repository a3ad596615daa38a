import { type Linked, LinkedList } from "./linked-list.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { Running } from "./running.ts";
import type { RunningCall } from "./running-call.ts";
import { cutShort, requestCancelled } from "./standard-errors.ts";

/** An entry in the list of an origin's running calls. */
export class CallEntry implements Linked<CallEntry> {
  readonly call: RunningCall;
  prev: CallEntry | undefined;
  next: CallEntry | undefined;

  constructor(call: RunningCall) {
    this.call = call;
  }
}

export function addCall(calls: LinkedList<CallEntry>, call: RunningCall): void {
  call.entry = new CallEntry(call);
  calls.add(call.entry);
}

/** The running calls of an origin, which lists them from now on. Copy the result if calls may end during iteration. */
export function* callsOf(running: Running, origin: Origin): Iterable<RunningCall> {
  if (origin.inFlight === 0) return;
  if (origin.calls === undefined) {
    origin.calls = new LinkedList();
    for (const call of callsWhere(running, (from) => from === origin)) {
      addCall(origin.calls, call);
    }
  }
  for (let entry = origin.calls.first; entry !== undefined; entry = entry.next) yield entry.call;
}

/** The running calls of all matching origins; looks at every running call. */
export function callsWhere(running: Running, isFrom: (origin: Origin) => boolean): RunningCall[] {
  return (running.list() as RunningCall[]).filter(({ context }) => isFrom(context.origin));
}

/** Cancels the call with this id, if it is among these. */
export function cancelCall(calls: Iterable<RunningCall>, id: Id): void {
  endCall(calls, id, requestCancelled);
}

/** Ends the call with this id, if it is among these, and replies so. */
export function endCall(calls: Iterable<RunningCall>, id: Id, error: ErrorObject): void {
  findCall(calls, id)?.end(error);
}

/** The same for protocols in which a cancelled call gets no reply. */
export function dropCall(calls: Iterable<RunningCall>, id: Id): void {
  findCall(calls, id)?.drop();
}

/** The same for a batch entry that has not begun. */
export function giveUpQueued({ queues }: Origin, id: Id): void {
  if (queues !== undefined) for (const queue of queues) queue.giveUp(id);
}

function findCall(calls: Iterable<RunningCall>, id: Id): RunningCall | undefined {
  for (const call of calls) if (call.context.id === id && call.ended === undefined) return call;
  return undefined;
}

/** Ends every running call of an origin, and replies so. */
export function endCalls(running: Running, origin: Origin, error: ErrorObject): void {
  // In a batch, queued entries replace those that end.
  for (;;) {
    const open = [...callsOf(running, origin)].filter(({ ended }) => ended === undefined);
    if (open.length === 0) break;
    for (const call of open) call.end(error);
  }
}

/** Ends the subscriptions among these calls: they last until someone ends them, so a server that closes cannot wait. */
export function endSubscriptions(calls: Iterable<RunningCall>): void {
  for (const call of [...calls]) call.extras?.unsubscribe?.(cutShort);
}

/** Ends every running call of an origin whose connection broke; none of them starts afterwards. */
export function abandonCalls(running: Running, origin: Origin, error: ErrorObject): void {
  origin.aborted = true;
  endCalls(running, origin, error);
}

const pollMs = 10;

/**
 * Resolves when no more calls are in flight and the last reply was handed to the wire, or after `drainMs`. It polls:
 * only a wire that closes waits, and ending a call should cost nothing. The timers keep the process alive, because a
 * reply is still to be written.
 */
export async function callsDone(inFlight: () => number, drainMs: number): Promise<void> {
  const latest = performance.now() + drainMs;
  do {
    // Also if nothing runs: the reply to a call that just ended is written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, inFlight() === 0 ? 0 : pollMs));
  } while (inFlight() > 0 && performance.now() < latest);
}

/** Waits for the running calls of an origin, then ends the rest, and resolves when the replies were handed to the wire. */
export async function drainCalls(running: Running, origin: Origin, drainMs: number): Promise<void> {
  endSubscriptions(callsOf(running, origin));
  await callsDone(() => origin.inFlight, drainMs);
  endCalls(running, origin, cutShort);
  await callsDone(() => 0, 0);
}
