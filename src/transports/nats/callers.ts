import type { BriefMap } from "../../protocol/brief-map.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import { Origin, type Peer, type Usage } from "../../protocol/origin.ts";
import { IncomingCall } from "./incoming-call.ts";
import type { Mailbox } from "./mailbox.ts";
import { controlSubjectOf, isMailbox } from "./subjects.ts";

/** Most callers that are remembered. */
const mostKnown = 10_000;

/** The share of the server's limits for all callers that have not proved that they exist, because anyone can invent inboxes. */
const strangers = "strangers";

/** One client that calls here, however many payloads it sends. The limits apply to it as a whole. */
export class Caller implements Usage {
  readonly name: string;
  /** Whose share of the server's limits it uses: that of its user, once it is known. */
  caller = strangers;
  /** Its payloads that await their answer, except those without a reply subject. */
  readonly calls: LinkedList<IncomingCall> = new LinkedList();
  inFlight = 0;
  openStreams = 0;
  /** Whether it came after the last round of probes. */
  isNew = true;
  /** Whether it answers probes: it is a mailbox, and this peer may publish to it. */
  isProbeable: boolean;
  readonly #mailbox: Mailbox;
  readonly #byName: BriefMap<string, Caller>;
  /** Its payloads that await their answer, and its calls that run. */
  #uses = 0;
  #peer: IncomingCall | undefined;
  #closed: Promise<void> | undefined;
  #resolveClosed: (() => void) | undefined;
  #isGone = false;

  /** Adds itself to the callers for which something runs, or whose end a handler awaits. */
  constructor(name: string, mailbox: Mailbox, byName: BriefMap<string, Caller>) {
    this.name = name;
    this.isProbeable = isMailbox(name);
    this.#mailbox = mailbox;
    this.#byName = byName;
    if (mailbox.incoming.known.has(name)) this.#share();
    byName.set(name, this);
  }

  get isKnown(): boolean {
    return this.caller !== strangers;
  }

  /** It has shown that it exists. */
  known(): void {
    if (this.isKnown) return;
    this.#share();
    this.#mailbox.incoming.known.add(this.name);
  }

  /** Whether it can be reached when no call of it is open. */
  get isReachable(): boolean {
    return isMailbox(this.name);
  }

  /** The peer that does not depend on a payload; undefined if it cannot be reached without one. */
  get peer(): Peer | undefined {
    if (this.#peer !== undefined || !this.isReachable) return this.#peer;
    const peer = new IncomingCall(this.#mailbox, controlSubjectOf(this.name), this);
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
      else this.#mailbox.liveness.watch();
    });
    return this.#closed;
  }

  hold(): void {
    this.#uses++;
  }

  release(): void {
    if (--this.#uses > 0) return;
    if (!this.isProbeable) this.gone();
    else if (this.#closed === undefined) this.#forget();
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
    this.#forget();
    if (this.#peer !== undefined) this.#peer.origin.aborted = true;
    this.#resolveClosed?.();
  }

  #share(): void {
    this.caller = this.#mailbox.replies.userOf(this.name);
  }

  #forget(): void {
    if (this.#byName.get(this.name) === this) this.#byName.take(this.name);
  }
}

/** Callers that have proved that they exist, by reacting to a message from here. */
export class KnownCallers {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    if (!this.#names.delete(name)) return false;
    // The caller that called last is forgotten last.
    this.#names.add(name);
    return true;
  }

  add(name: string): void {
    this.#names.add(name);
    const [oldest] = this.#names;
    if (this.#names.size > mostKnown && oldest !== undefined) this.#names.delete(oldest);
  }
}
