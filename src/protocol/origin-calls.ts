import { requestCancelled } from "./errors.ts";
import { type Linked, LinkedList } from "./linked-list.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { Running } from "./running.ts";
import type { Life } from "./running-call.ts";

/** A place among the running calls of an origin. */
export class Seat implements Linked<Seat> {
  readonly life: Life;
  prev: Seat | undefined;
  next: Seat | undefined;

  constructor(life: Life) {
    this.life = life;
  }
}

export function takeSeat(calls: LinkedList<Seat>, life: Life): void {
  life.seat = new Seat(life);
  calls.add(life.seat);
}

/** The running calls of an origin, which keeps them from now on; copied, if they may end while they are walked. */
export function* callsOf(running: Running, origin: Origin): Iterable<Life> {
  if (origin.inFlight === 0) return;
  if (origin.calls === undefined) {
    origin.calls = new LinkedList();
    for (const life of callsWhere(running, (from) => from === origin)) {
      takeSeat(origin.calls, life);
    }
  }
  for (let seat = origin.calls.first; seat !== undefined; seat = seat.next) yield seat.life;
}

/** The running calls of all origins of a kind, for which each running call is looked at. */
export function callsWhere(running: Running, isFrom: (origin: Origin) => boolean): Life[] {
  return (running.list() as Life[]).filter(({ context }) => isFrom(context.origin));
}

/** Ends the one of these calls that was made under this id, if there is one. */
export function cancelCall(calls: Iterable<Life>, id: Id): void {
  findCall(calls, id)?.end(requestCancelled);
}

/** The same where a call that was given up gets no reply. */
export function dropCall(calls: Iterable<Life>, id: Id): void {
  findCall(calls, id)?.silence();
}

/** The same for what waits in a batch until others of it are done. */
export function giveUpQueued({ queues }: Origin, id: Id): void {
  if (queues !== undefined) for (const queue of queues) queue.giveUp(id);
}

function findCall(calls: Iterable<Life>, id: Id): Life | undefined {
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
export async function quiet(origin: { readonly inFlight: number }, drainMs: number): Promise<void> {
  const latest = performance.now() + drainMs;
  do {
    // Also when nothing runs: the reply to what has just ended is written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, origin.inFlight === 0 ? 0 : lookEveryMs));
  } while (origin.inFlight > 0 && performance.now() < latest);
}
