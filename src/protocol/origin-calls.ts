import { requestCancelled } from "./errors.ts";
import type { RunningCall } from "./incoming-call.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { Running } from "./running.ts";

/** A place among the running calls of an origin. */
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

/** The running calls of an origin, which keeps them from now on; copied, if they may end while they are walked. */
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

/** The running calls of all origins of a kind, for which each running call is looked at. */
export function callsWhere(running: Running, isFrom: (origin: Origin) => boolean): RunningCall[] {
  return (running.list() as RunningCall[]).filter(({ context }) => isFrom(context.origin));
}

/** Ends the one of these calls that was made under this id, if there is one. */
export function cancelCall(calls: Iterable<RunningCall>, id: Id): void {
  findCall(calls, id)?.end(requestCancelled);
}

/** The same where a call that was given up gets no reply. */
export function dropCall(calls: Iterable<RunningCall>, id: Id): void {
  findCall(calls, id)?.drop();
}

/** The same for what waits in a batch until others of it are done. */
export function giveUpQueued({ queues }: Origin, id: Id): void {
  if (queues !== undefined) for (const queue of queues) queue.giveUp(id);
}

function findCall(calls: Iterable<RunningCall>, id: Id): RunningCall | undefined {
  for (const call of calls) if (call.context.id === id && call.ended === undefined) return call;
  return undefined;
}

/** Ends every running call of an origin, which is told so. */
export function endCalls(running: Running, origin: Origin, error: ErrorObject): void {
  // In a batch, others take the places of those that end.
  for (;;) {
    const open = [...callsOf(running, origin)].filter(({ ended }) => ended === undefined);
    if (open.length === 0) break;
    for (const call of open) call.end(error);
  }
}

/** Ends every running call of an origin whose wire broke; nothing that came from it starts any more. */
export function abandonCalls(running: Running, origin: Origin, error: ErrorObject): void {
  origin.aborted = true;
  for (const call of [...callsOf(running, origin)]) call.end(error);
}

const lookEveryMs = 10;

/**
 * Resolves once no call of this origin runs and its last reply was handed to the wire, or when the
 * time is up. It looks now and then: only a wire that closes asks, and a call that ends should not
 * have to tell anybody. The timers keep the process alive, because a reply is still to be written.
 */
export async function callsDone(
  origin: { readonly inFlight: number },
  drainMs: number,
): Promise<void> {
  const latest = performance.now() + drainMs;
  do {
    // Also when nothing runs: the reply to what has just ended is written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, origin.inFlight === 0 ? 0 : lookEveryMs));
  } while (origin.inFlight > 0 && performance.now() < latest);
}
