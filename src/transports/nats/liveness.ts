import { type Clock, systemClock, type Timer } from "../../protocol/clock.ts";
import { type Envelope, membersOf } from "../../protocol/envelope.ts";
import { ErrorCode } from "../../protocol/errors.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import { requestText } from "../../protocol/serialize.ts";
import type { Caller } from "./callers.ts";
import type { Msg } from "./client-library.ts";
import type { ConnectionState } from "./connection.ts";
import { isUndelivered } from "./headers.ts";
import type { IncomingCall } from "./incoming-call.ts";
import type { Mailbox } from "./mailbox.ts";
import { requireMs } from "./options.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import { controlSubjectOf, isFromAnotherAccount } from "./subjects.ts";

export interface LivenessOptions {
  readonly aliveMs: number | undefined;
  /** How long a stream runs without a sign of a caller in another account. */
  readonly callerSilenceMs?: number | undefined;
  readonly clock: Clock | undefined;
}

/** A call is lost after this many unanswered probes. */
const mostUnanswered = 3;
/** Time between probes after a node of the cluster was lost. */
const urgentMs = 800;
/** By then the peers of a node that died have connected to another. */
const reconnectMs = 1_000;
/** nats-server counts as unreachable after this many times `aliveMs` without any message. */
const mostQuiet = 3;
/** Most calls in one `$/ping`. */
const mostPerPing = 1_000;
/** Most pings whose answers are awaited. */
const mostPings = 10_000;

/** A call that no caller has made, so that one that exists answers a `$/ping` with it. */
const madeUpCall = "?";

const callerSilent: ErrorObject = {
  code: ErrorCode.RequestCancelled,
  message: "Request cancelled",
  data: { details: "there was no sign of the caller for too long" },
};

/**
 * NATS does not report a dead peer, so both sides probe every `aliveMs`: the caller checks that its call still runs, the worker that its
 * caller is still there.
 *
 * - The caller sends `$/held` to the worker, or to all workers if it does not know which has the call. The worker answers `$/held`, or
 *   `$/gone` if the call is unknown. The call is lost after three probes without an answer. Services in other languages do not answer, so
 *   the caller first sends `$/hello`, and probes only if a worker answers that.
 * - The worker sends `$/ping` to the caller, with the calls that it runs. The caller answers `$/unwanted` with those that it no longer
 *   waits for, since a cancel can be lost. If NATS reports no subscriber, the caller is gone. To a caller that has not yet shown that it
 *   exists, it lists a call that was never made.
 * - Callers that are not callwire's, or are in another account, do not answer `$/ping`. Their streams end when NATS reports that no client
 *   receives an item or a `$/held`, or, between accounts, where NATS does not, after `callerSilenceMs` without a sign.
 * - When a node of the cluster is lost, the calls that were open are probed every 0.8 s, because the call or its reply may have been lost.
 */
export class Liveness {
  /** Whether nats-server has not answered for some time, as in a network partition. */
  isSilent = false;
  /** Messages received by the mailbox. */
  received = 0;
  readonly #mailbox: Mailbox;
  readonly #workers: string | undefined;
  readonly #state: ConnectionState;
  readonly #clock: Clock;
  readonly #aliveMs: number;
  readonly #mostSilentRounds: number;
  #timer: Timer | undefined;
  #isWatching = false;
  #hasGreeted = false;
  /** Whether a worker answered `$/hello`. */
  #hasWorkers = false;
  #urgentRounds = 0;
  /** Whether a call at risk was answered for since the last urgent round. */
  #hasAnswers = false;
  /** The pings of the last round, by the token of their reply subject. */
  #pings = new Map<string, { readonly name: string; readonly isUrgent: boolean }>();

  constructor(
    mailbox: Mailbox,
    state: ConnectionState,
    workers: string | undefined,
    options: LivenessOptions,
  ) {
    const { aliveMs = 5_000, callerSilenceMs = 60_000, clock = systemClock } = options;
    if (aliveMs !== Number.POSITIVE_INFINITY) requireMs("aliveMs", aliveMs, 1);
    if (callerSilenceMs !== Number.POSITIVE_INFINITY)
      requireMs("callerSilenceMs", callerSilenceMs, 1);
    this.#mailbox = mailbox;
    this.#state = state;
    this.#workers = workers;
    this.#clock = clock;
    this.#aliveMs = aliveMs;
    this.#mostSilentRounds = callerSilenceMs / aliveMs;
  }

  /** Probes in rounds from now on, until nothing is open. */
  watch(): void {
    if (this.#isWatching || this.#mailbox.isClosed || !this.#isOn) return;
    this.#isWatching = true;
    this.#timer = this.#clock.after(this.#aliveMs, () => void this.#round());
  }

  close(): void {
    this.#timer?.cancel();
  }

  /** A node of the cluster was lost, and with it what was passing through it. */
  nodeGone(): void {
    if (!this.#isOn) return;
    for (const call of this.#mailbox.outgoing.list()) {
      // Others are sent again anyway.
      call.isAtRisk = call.patience === 0;
      call.unanswered = 0;
    }
    if (!this.#hasWorkers) this.#greet();
    const isScheduled = this.#urgentRounds > 0;
    // One more round for the first `$/hello`, and one that fails the calls without an answer.
    this.#urgentRounds = mostUnanswered + 2;
    if (!isScheduled) this.#scheduleUrgent();
    this.pingSoon();
  }

  /** Pings callers soon, because a cancel may have been lost. */
  pingSoon(): void {
    if (this.#isOn) {
      this.#mailbox.later(Math.min(reconnectMs, this.#aliveMs), () => this.#ping(true));
    }
  }

  /** Greets the workers before the first call. */
  greetOnce(): void {
    if (!this.#hasGreeted) this.#greet();
  }

  /** No worker was there; workers that start later have not been greeted. */
  greetAgain(): void {
    this.#hasGreeted = false;
  }

  /** A worker answered `$/hello`. */
  receiveHello({ params }: Envelope): void {
    const { reply } = membersOf(params);
    // Between accounts nats-server renames reply subjects, so a worker could not find a call by its own.
    this.#hasWorkers = reply === controlSubjectOf(this.#mailbox.address);
  }

  /** A worker has this call. */
  receiveHeld(call: OutgoingCall): void {
    this.#hasAnswers ||= call.isAtRisk;
    call.isAtRisk = false;
  }

  /** A worker pings, with the calls that it runs for this mailbox. */
  receivePing({ params }: Envelope, reply: string): void {
    const held = tokensIn(params).filter((token) => !this.#mailbox.outgoing.isOpen(token));
    if (held.length > 0) this.#mailbox.notify(reply, "$/unwanted", { held });
  }

  /** The answer to a ping: calls that are no longer wanted, or NATS's report that it was not delivered. */
  receivePong(token: string, message: Msg): void {
    const { incoming } = this.#mailbox;
    const ping = this.#pings.get(token);
    if (ping === undefined) return;
    this.#pings.delete(token);
    const { name, isUrgent } = ping;
    const caller = incoming.callers.get(name);
    if (isUndelivered(message)) {
      // After the loss of a node, the caller may be connecting to another.
      if (caller !== undefined && !isUrgent) incoming.abandonCallers([caller]);
      return;
    }
    // The token was sent to the caller only.
    if (caller === undefined) incoming.known.add(name);
    else caller.known();
    const [answer] = this.#mailbox.envelope(message);
    if (answer?.method !== "$/unwanted") return;
    // A caller may list very many.
    const unwanted = new Set(tokensIn(answer.params));
    const calls = caller?.calls.list() ?? [];
    incoming.abandonCalls(calls.filter(({ reply }) => unwanted.has(tokenOf(reply, name))));
  }

  /** Asks a caller that was refused whether it exists. If it does, its next calls do not compete with those of made-up callers. */
  challenge(caller: Caller): void {
    if (caller.isKnown || !caller.isProbeable) return;
    this.#sendPing(caller.name, [madeUpCall], true);
  }

  sendHello(reply: string): void {
    this.#mailbox.notify(reply, "$/hello", { reply });
  }

  /** Tells a caller that its call runs, and how many items were sent, since items can be lost. */
  sendHeld(reply: string, call: IncomingCall): void {
    const { items, granted } = call;
    const params = items + granted === 0 ? undefined : { items, total: granted };
    this.#mailbox.notify(reply, "$/held", params, this.#mailbox.incoming.subjectOf(call));
  }

  sendGone(reply: string): void {
    this.#mailbox.notify(reply, "$/gone");
  }

  get #isOn(): boolean {
    return this.#aliveMs !== Number.POSITIVE_INFINITY;
  }

  async #round(): Promise<void> {
    const { outgoing, incoming } = this.#mailbox;
    if (!this.#state.down && !this.#mailbox.isClosed) {
      if (outgoing.size > 0 && !this.#hasWorkers) this.#greet();
      for (const call of outgoing.list()) {
        if (call.isNew) call.isNew = false;
        else if (!call.isAtRisk) this.#probe(call);
      }
      this.#ping(false);
      for (const call of incoming.list()) {
        if (!call.caller.isProbeable && call.origin.openStreams > 0) this.#probeStream(call);
      }
      // Answers may be queued behind other messages; the next round waits for them.
      await this.#flushed();
    }
    this.#isWatching = false;
    if (outgoing.size > 0 || incoming.callers.size > 0) this.watch();
  }

  /** Waits until nats-server has answered; if it does not for long, the connection counts as lost. */
  async #flushed(): Promise<void> {
    let before = this.received;
    let quiet = 0;
    let timer: Timer;
    const look = (): void => {
      quiet = this.received === before ? quiet + 1 : 0;
      before = this.received;
      if (quiet === mostQuiet) {
        this.isSilent = true;
        this.#mailbox.lost();
      }
      timer = this.#clock.after(this.#aliveMs, look);
    };
    timer = this.#clock.after(this.#aliveMs, look);
    await this.#state.orGone(this.#mailbox.connection.flush());
    timer.cancel();
    if (!this.isSilent) return;
    this.isSilent = false;
    if (!this.#state.down) this.#mailbox.restored();
  }

  #greet(): void {
    this.#hasGreeted = true;
    if (this.#workers === undefined) return;
    const reply = controlSubjectOf(this.#mailbox.address);
    this.#mailbox.notify(this.#workers, "$/hello", undefined, reply);
  }

  #probe(call: OutgoingCall): void {
    const { outgoing } = this.#mailbox;
    const where = call.remote ?? (this.#hasWorkers ? this.#workers : undefined);
    if (call.unanswered >= mostUnanswered) outgoing.lose(call, call.isAtRisk);
    else if (where !== undefined) {
      call.unanswered++;
      // Includes the credit given so far: if credit were lost, both sides would wait for each other.
      const { credit, uploaded } = call;
      const params = credit + uploaded === 0 ? undefined : { given: credit, uploaded };
      outgoing.notify(where, call, "$/held", params);
    }
  }

  #scheduleUrgent(): void {
    this.#mailbox.later(Math.min(urgentMs, this.#aliveMs), async () => {
      this.#urgentRound();
      if (this.#urgentRounds === 0) return;
      await this.#state.orGone(this.#mailbox.connection.flush());
      this.#scheduleUrgent();
    });
  }

  #urgentRound(): void {
    const atRisk = this.#mailbox.outgoing.list().filter(({ isAtRisk }) => isAtRisk);
    // After a reconnect all open calls are sent again anyway.
    if (atRisk.length === 0 || this.#state.down) this.#urgentRounds = 0;
    // While answers arrive, more may follow.
    else if (this.#hasAnswers) this.#hasAnswers = false;
    else {
      this.#urgentRounds--;
      if (!this.#hasWorkers) this.#greet();
      for (const call of atRisk) this.#probe(call);
    }
    if (this.#urgentRounds === 0) for (const call of atRisk) call.isAtRisk = false;
  }

  #ping(isUrgent: boolean): void {
    const { incoming } = this.#mailbox;
    this.#pings = new Map();
    for (const [name, caller] of incoming.callers.list()) {
      if (!caller.isProbeable) continue;
      const { isNew } = caller;
      caller.isNew = false;
      if (isNew && !isUrgent) continue;
      const held = caller.calls.list().map(({ reply }) => tokenOf(reply, name));
      const calls = [...new Set(held)];
      if (!caller.isKnown) calls.push(madeUpCall);
      for (let i = 0; i === 0 || i < calls.length; i += mostPerPing) {
        this.#sendPing(name, calls.slice(i, i + mostPerPing), isUrgent);
      }
    }
  }

  #sendPing(name: string, held: readonly string[], isUrgent: boolean): void {
    const token = this.#mailbox.nextToken("p");
    const reply = this.#mailbox.replyTo(token);
    const text = requestText({ jsonrpc: "2.0", method: "$/ping", params: { held } });
    // The caller chooses how long its reply subjects are, and one that cannot be pinged would never count as gone.
    if (held.length > 1 && !this.#mailbox.fits(text)) {
      const half = held.length / 2;
      for (const part of [held.slice(0, half), held.slice(half)])
        this.#sendPing(name, part, isUrgent);
      return;
    }
    this.#mailbox.trySend(controlSubjectOf(name), text, reply);
    this.#pings.set(token, { name, isUrgent });
    const [oldest] = this.#pings.keys();
    if (this.#pings.size > mostPings && oldest !== undefined) this.#pings.delete(oldest);
  }

  /** Without this, a caller could start any number of endless streams for callers that never existed. */
  #probeStream(call: IncomingCall): void {
    const { items, probedItems, origin, reply } = call;
    call.probedItems = items;
    if (probedItems === undefined) return;
    const isElsewhere = isFromAnotherAccount(reply);
    if (isElsewhere && ++call.silentRounds >= this.#mostSilentRounds)
      this.#mailbox.incoming.end(origin, callerSilent);
    else if (isElsewhere || items === probedItems) this.sendHeld(reply, call);
  }
}

/** The last token of a reply subject of this caller. */
function tokenOf(reply: string, caller: string): string {
  return reply.slice(caller.length + 1);
}

/** The tokens that a message lists in `held`. Skips other values: an exception in a subscription callback would end the connection. */
function tokensIn(params: unknown): readonly string[] {
  const { held } = membersOf(params);
  return Array.isArray(held) ? held.filter((token) => typeof token === "string") : [];
}
