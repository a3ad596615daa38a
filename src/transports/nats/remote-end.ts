import { BriefMap } from "../../protocol/brief-map.ts";
import { Origin, type Peer, type Usage } from "../../protocol/origin.ts";
import { doorbellOf, isMailbox, senderOf } from "./address.ts";
import { Caller } from "./caller.ts";
import type { Mailbox } from "./mailbox.ts";

/** One other end that calls here, however many payloads it sends. The limits hold for it as a whole. */
export class RemoteEnd implements Usage {
  readonly name: string;
  inFlight = 0;
  openStreams = 0;
  /** Whether it came after the last round of questions. */
  young = true;
  /** Whether it can be asked if it is there: it is a mailbox, and this end may publish to it. */
  isProbeable: boolean;
  readonly #ends: RemoteEnds;
  /** Its payloads that await their answer, and its calls that run. */
  #uses = 0;
  #peer: Caller | undefined;
  #closed: Promise<void> | undefined;
  #tellClosed: (() => void) | undefined;
  #isGone = false;

  constructor(name: string, ends: RemoteEnds) {
    this.name = name;
    this.isProbeable = isMailbox(name);
    this.#ends = ends;
  }

  /** Whether it can be told something when no call of it is open. */
  get stays(): boolean {
    return isMailbox(this.name);
  }

  /** The way to it that does not depend on any payload; undefined where there is none. */
  get peer(): Peer | undefined {
    if (this.#peer !== undefined || !this.stays) return this.#peer;
    const peer = new Caller(this.#ends.mailbox, doorbellOf(this.name), this);
    peer.origin = new Origin(undefined, peer);
    peer.origin.aborted = this.#isGone;
    peer.open = false;
    this.#peer = peer;
    return peer;
  }

  /** From when it is read on the end is looked after, even when nothing runs for it. */
  get closed(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#tellClosed = resolve;
      if (this.#isGone) resolve();
      else this.#ends.mailbox.watch();
    });
    return this.#closed;
  }

  /** A payload came. */
  hold(): void {
    this.#uses++;
  }

  /** A payload was answered. */
  release(): void {
    if (--this.#uses > 0) return;
    if (!this.isProbeable) this.gone();
    else if (this.#closed === undefined) this.#ends.forget(this);
  }

  /** It cannot be asked any more. Nobody would ever notice that it is gone, so it counts as gone when nothing runs for it. */
  lose(): void {
    this.isProbeable = false;
    if (this.#uses === 0) this.gone();
  }

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    // A call may go on after its payload was answered, such as one that was cancelled.
    if (calls > 0) this.hold();
    else if (calls < 0) this.release();
  }

  /** Nobody is there any more; whoever comes under this name is somebody new. */
  gone(): void {
    this.#isGone = true;
    this.#ends.forget(this);
    if (this.#peer !== undefined) this.#peer.origin.aborted = true;
    this.#tellClosed?.();
  }
}

/** The other ends for which something runs, or whose end somebody waits for; others are not kept. */
export class RemoteEnds {
  readonly mailbox: Mailbox;
  readonly #byName = new BriefMap<string, RemoteEnd>();

  constructor(mailbox: Mailbox) {
    this.mailbox = mailbox;
  }

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): RemoteEnd | undefined {
    return this.#byName.get(name);
  }

  /** The one that a payload with this reply subject comes from. All that have none are one. */
  of(reply: string): RemoteEnd {
    const name = senderOf(reply);
    let end = this.#byName.get(name);
    if (end === undefined) {
      end = new RemoteEnd(name, this);
      this.#byName.set(name, end);
    }
    return end;
  }

  forget(end: RemoteEnd): void {
    if (this.#byName.get(end.name) === end) this.#byName.take(end.name);
  }

  all(): RemoteEnd[] {
    return this.#byName.list().map(([, end]) => end);
  }
}
