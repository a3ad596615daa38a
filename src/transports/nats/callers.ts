import { BriefMap } from "../../protocol/brief-map.ts";
import { Origin, type Peer, type Usage } from "../../protocol/origin.ts";
import { IncomingCall } from "./incoming-call.ts";
import type { Mailbox } from "./mailbox.ts";
import { controlSubjectOf, isMailbox, senderOf } from "./subjects.ts";

/** One client that calls here, however many payloads it sends. The limits apply to it as a whole. */
export class Caller implements Usage {
  readonly name: string;
  inFlight = 0;
  openStreams = 0;
  /** Whether it came after the last round of probes. */
  isNew = true;
  /** Whether it answers probes: it is a mailbox, and this peer may publish to it. */
  isProbeable: boolean;
  readonly #callers: Callers;
  /** Its payloads that await their answer, and its calls that run. */
  #uses = 0;
  #peer: IncomingCall | undefined;
  #closed: Promise<void> | undefined;
  #resolveClosed: (() => void) | undefined;
  #isGone = false;

  constructor(name: string, callers: Callers) {
    this.name = name;
    this.isProbeable = isMailbox(name);
    this.#callers = callers;
  }

  /** Whether it can be reached when no call of it is open. */
  get isReachable(): boolean {
    return isMailbox(this.name);
  }

  /** The peer that does not depend on a payload; undefined if it cannot be reached without one. */
  get peer(): Peer | undefined {
    if (this.#peer !== undefined || !this.isReachable) return this.#peer;
    const peer = new IncomingCall(this.#callers.mailbox, controlSubjectOf(this.name), this);
    peer.origin = new Origin(undefined, peer);
    peer.origin.aborted = this.#isGone;
    peer.isOpen = false;
    this.#peer = peer;
    return peer;
  }

  /** Once this is read, the caller is probed even if nothing runs for it. */
  get closed(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#resolveClosed = resolve;
      if (this.#isGone) resolve();
      else this.#callers.mailbox.liveness.watch();
    });
    return this.#closed;
  }

  hold(): void {
    this.#uses++;
  }

  release(): void {
    if (--this.#uses > 0) return;
    if (!this.isProbeable) this.gone();
    else if (this.#closed === undefined) this.#callers.forget(this);
  }

  /** It can no longer be probed, so it counts as gone when nothing runs for it. */
  stopProbing(): void {
    this.isProbeable = false;
    if (this.#uses === 0) this.gone();
  }

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    // A call, such as a cancelled one, may run on after its payload was answered.
    if (calls > 0) this.hold();
    else if (calls < 0) this.release();
  }

  gone(): void {
    this.#isGone = true;
    this.#callers.forget(this);
    if (this.#peer !== undefined) this.#peer.origin.aborted = true;
    this.#resolveClosed?.();
  }
}

/** The callers for which something runs, or whose end a handler awaits. */
export class Callers {
  readonly mailbox: Mailbox;
  readonly #byName = new BriefMap<string, Caller>();

  constructor(mailbox: Mailbox) {
    this.mailbox = mailbox;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Caller | undefined {
    return this.#byName.get(name);
  }

  /** The caller behind a reply subject. All payloads without one count as one caller. */
  of(reply: string): Caller {
    const name = senderOf(reply);
    let caller = this.#byName.get(name);
    if (caller === undefined) {
      caller = new Caller(name, this);
      this.#byName.set(name, caller);
    }
    return caller;
  }

  forget(caller: Caller): void {
    if (this.#byName.get(caller.name) === caller) this.#byName.take(caller.name);
  }

  list(): Caller[] {
    return this.#byName.list().map(([, caller]) => caller);
  }
}
