import { decodeUtf8, utf8Length } from "../../framing/utf8.ts";
import { type Clock, systemClock, type Timer } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Link } from "../../protocol/link.ts";
import type { Log } from "../../protocol/log.ts";
import { isEnvelope, parsePayload } from "../../protocol/parse.ts";
import type { Service } from "../../protocol/service.ts";
import { marked } from "./address.ts";
import { Callers, holdsCalls } from "./callers.ts";
import type { Msg, MsgHdrs, NatsConnection, Subscription } from "./client-library.ts";
import { ConnectionState, type StateListener } from "./connection-state.ts";
import { KeptMessages } from "./kept-messages.ts";
import { OpenCalls } from "./open-calls.ts";
import { mustBeOpen } from "./open-connection.ts";
import { requireMs } from "./option-checks.ts";
import type { ReplySubjects } from "./reply-subjects.ts";
import { StreamProbes } from "./stream-probes.ts";
import type { Subjects } from "./subjects.ts";
import { Tokens } from "./tokens.ts";
import { maxBytesOf, saysTooLarge, tooLarge } from "./too-large.ts";

export interface MailboxOptions {
  readonly service: Service | undefined;
  /** Where those are whom this end calls; undefined for one that only calls back. */
  readonly subjects: Subjects | undefined;
  readonly replies: ReplySubjects;
  /** Gets messages that ask for a reply where there must be none. Without it they count as messages that want no reply. */
  readonly refuse?: (message: Msg) => void;
  readonly aliveMs: number | undefined;
  /** How long a stream runs without a sign of a caller that may not be there. */
  readonly callerSilenceMs?: number | undefined;
  readonly clock: Clock | undefined;
}

/** So many looks without any message while the engine owes an answer make it silent. */
const mostQuiet = 3;
/** By then whoever was on a node that died is connected to another. */
const soonMs = 1_000;
/** So much may be on its way to the engine before a stream waits. */
const mostUnflushed = 256 * 1024;

/**
 * One end on NATS: a single subscription, at which the replies to its calls arrive, what comes
 * before them, and what the others say about the calls that run here.
 */
export class Mailbox implements StateListener {
  readonly calls: OpenCalls;
  readonly callers: Callers;
  readonly tokens: Tokens;
  /** Whether all who call here know the address, as that of a worker; a link tells its own only to those whom it calls. */
  readonly isPublic: boolean;
  /** How those are called whom this end calls; undefined for one that only calls back. */
  way: Link | undefined;
  readonly connection: NatsConnection;
  readonly address: string;
  readonly #streamProbes: StreamProbes | undefined;
  readonly #replies: ReplySubjects;
  readonly #refuse: ((message: Msg) => void) | undefined;
  readonly #state: ConnectionState;
  readonly #subscription: Subscription;
  readonly #aliveMs: number;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #watching = false;
  #received = 0;
  /** Whether the engine has long said nothing. */
  #silent = false;
  /** Why no reply can come, if none can. */
  #deafness: string | undefined;
  readonly #kept = new KeptMessages();
  #unflushed = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor(connection: NatsConnection, address: string, options: MailboxOptions) {
    mustBeOpen(connection);
    this.connection = connection;
    this.address = marked(address);
    this.#aliveMs = options.aliveMs ?? 5_000;
    if (this.#aliveMs !== Number.POSITIVE_INFINITY) requireMs("aliveMs", this.#aliveMs, 1);
    this.#clock = options.clock ?? systemClock;
    this.#replies = options.replies;
    this.#refuse = options.refuse;
    this.isPublic = options.subjects === undefined;
    this.tokens = new Tokens(this.isPublic);
    this.calls = new OpenCalls(this, options.subjects, this.#aliveMs);
    this.callers = new Callers(this, options.service);
    const { service, callerSilenceMs = 60_000 } = options;
    if (callerSilenceMs !== Number.POSITIVE_INFINITY)
      requireMs("callerSilenceMs", callerSilenceMs, 1);
    this.#streamProbes =
      service && new StreamProbes(this, service, callerSilenceMs / this.#aliveMs);
    this.#state = ConnectionState.of(connection);
    this.#state.listeners.add(this);
    this.#subscription = this.listen(
      `${this.address}.*`,
      (message, reply) => this.#receive(message, reply),
      { failed: (error) => this.#deafen(error, service?.log) },
    );
  }

  /**
   * Subscribes to a subject. Every message comes in this way, together with the subject that it may be answered at (empty for none):
   * `message.reply` itself is what its sender wrote, and nothing may be published there.
   */
  listen(
    subject: string,
    hear: (message: Msg, reply: string) => void,
    options: { readonly queue?: string; readonly failed?: (error: Error) => void } = {},
  ): Subscription {
    const { queue, failed } = options;
    return this.connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error !== null) failed?.(error);
        else if (!message.reply || this.#replies.accepts(message.reply))
          hear(message, message.reply ?? "");
        else if (this.#refuse === undefined) hear(message, "");
        else this.#refuse(message);
      },
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Hands a message to the connection; what is sent in one turn leaves in one write. */
  publish(subject: string, text: string, reply?: string, headers?: MsgHdrs): void {
    if (this.#silent) throw notConnected("NATS has not answered for some time");
    if (reply && this.#deafness !== undefined) throw notConnected(this.#deafness);
    this.#hand(subject, text, reply, headers);
  }

  /** The same where nobody can be told that it failed. What the network holds up may still arrive. */
  tell(subject: string, text: string, reply?: string, headers?: MsgHdrs): boolean {
    try {
      this.#hand(subject, text, reply, headers);
      return true;
    } catch {
      return false;
    }
  }

  /** The same for what is of use on the next connection too. */
  tellNowOrThen(subject: string, text: string, headers: MsgHdrs | undefined): void {
    const send = (): boolean => this.tell(subject, text, undefined, headers);
    const waits = this.#state.down && !this.#closed;
    if (!waits || !this.#kept.add(text.length, send)) send();
  }

  #hand(subject: string, text: string, reply?: string, headers?: MsgHdrs): void {
    if (this.#closed) throw new WireError("CLOSED", "the link is closed");
    if (this.#state.down) throw notConnected(this.connection.isClosed() ? forGood : forNow);
    if (!this.fits(text)) throw tooLarge(this.connection);
    this.#unflushed += text.length;
    try {
      if (headers !== undefined)
        this.connection.publish(subject, text, { reply: reply ?? "", headers });
      else if (reply !== undefined) this.connection.publish(subject, text, { reply });
      else this.connection.publish(subject, text);
    } catch (error) {
      if (saysTooLarge(error)) throw tooLarge(this.connection, error);
      throw notConnected(forGood, error);
    }
  }

  /** Where the reply to a call of this end is heard. */
  replyTo(token: string): string {
    return `${this.address}.${token}`;
  }

  /** Longest message that the engine takes. */
  get maxBytes(): number {
    return maxBytesOf(this.connection);
  }

  /** Whether it does, with so many bytes of headers. */
  fits(text: string, headerBytes = 0): boolean {
    const maxBytes = this.maxBytes - headerBytes;
    return text.length * 3 <= maxBytes || (text.length <= maxBytes && utf8Length(text) <= maxBytes);
  }

  /** Undefined while the engine keeps up; otherwise resolves when it has taken what was sent. */
  ready(): Promise<void> | undefined {
    if (this.#flushing !== undefined) return this.#flushing;
    if (this.#unflushed < mostUnflushed || this.#closed || this.#state.down) return undefined;
    this.#flushing = this.#state.orGone(this.connection.flush()).then(() => {
      this.#unflushed = 0;
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Runs something later, unless everything is over by then. */
  later(delayMs: number, run: () => void): void {
    this.#clock.after(delayMs, () => {
      if (!this.#closed) run();
    });
  }

  /** Something is open, so the other ends have to be looked after. */
  watch(): void {
    if (this.#watching || this.#closed || this.#aliveMs === Number.POSITIVE_INFINITY) return;
    this.#watching = true;
    this.#timer = this.#clock.after(this.#aliveMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    if (!this.#state.down && !this.#closed) {
      this.calls.ask();
      this.callers.questions.ask();
      this.#streamProbes?.run();
      // The answers may wait behind much that has not been read; only then does the next round begin.
      await this.#answered();
    }
    this.#watching = false;
    if (this.calls.size > 0 || this.callers.watched > 0) this.watch();
  }

  /** Waits for the engine. One that says nothing for long counts as gone: the network may be parted. */
  async #answered(): Promise<void> {
    let before = this.#received;
    let quiet = 0;
    let timer: Timer;
    const look = (): void => {
      quiet = this.#received === before ? quiet + 1 : 0;
      before = this.#received;
      if (quiet === mostQuiet) {
        this.#silent = true;
        this.lost();
      }
      timer = this.#clock.after(this.#aliveMs, look);
    };
    timer = this.#clock.after(this.#aliveMs, look);
    await this.#state.orGone(this.connection.flush());
    timer.cancel();
    if (!this.#silent) return;
    this.#silent = false;
    if (!this.#state.down) this.restored();
  }

  /** Hears nothing more. What is open has been settled before. */
  close(): void {
    if (this.#closed) return;
    this.callers.abandon();
    this.calls.fail(new WireError("CLOSED", "the link is closed"));
    this.#closed = true;
    this.#timer?.cancel();
    this.#state.listeners.delete(this);
    if (!this.connection.isClosed()) this.#subscription.unsubscribe();
  }

  lost(): void {
    this.calls.suspend(new WireError("CONNECTION_LOST", "the connection to NATS broke"));
  }

  restored(): void {
    this.calls.resume();
    this.#kept.sendAll();
    this.#askCallersSoon();
  }

  nodeGone(): void {
    this.calls.nodeGone();
    this.#askCallersSoon();
  }

  /** That they gave something up may have been lost on its way too. */
  #askCallersSoon(): void {
    if (this.#aliveMs === Number.POSITIVE_INFINITY) return;
    this.later(Math.min(soonMs, this.#aliveMs), () => this.callers.questions.ask(true));
  }

  /** This user may not subscribe to what the address begins with. What was sent before the engine said so may have run. */
  #deafen(cause: Error, log: Log | undefined): void {
    this.#deafness = `this user may not subscribe to ${this.address}.*, where replies come`;
    log?.error({ err: cause }, this.#deafness);
    this.calls.fail(new WireError("CONNECTION_LOST", this.#deafness, { cause }));
  }

  ended(cause: Error | undefined): void {
    this.calls.fail(
      new WireError("CONNECTION_LOST", "the connection to NATS was closed", { cause }),
    );
    this.callers.abandon();
  }

  forbidden(subject: string): boolean {
    const isCall = this.calls.forbidden(subject);
    return this.callers.forbidden(subject) || isCall;
  }

  /** What a message says, or undefined when it is no UTF-8. */
  text(message: Msg): string | undefined {
    const { data } = message;
    return decodeUtf8(data, 0, data.length);
  }

  #receive(message: Msg, reply: string): void {
    this.#received++;
    const token = message.subject.slice(this.address.length + 1);
    switch (token.charCodeAt(0)) {
      case 0x6f:
        this.calls.receive(token, message, reply);
        break;
      case 0x63:
        this.callers.control(token, message, reply);
        break;
      case 0x70:
        this.callers.questions.hear(token, message);
        break;
      default:
        this.#ring(message, reply);
    }
  }

  /** Something for this end, whichever of its calls it is about. */
  #ring(message: Msg, reply: string): void {
    // Nothing is in the word of the engine that nobody heard a greeting.
    const text = message.data.length === 0 ? undefined : this.text(message);
    if (text === undefined) return;
    const parsed = parsePayload(text, this.callers.maxBatch);
    if (isEnvelope(parsed)) {
      if (parsed.method === "$/ping") {
        this.calls.disown(parsed, reply);
        return;
      }
      if (parsed.method === "$/hello") {
        this.calls.greeting.take(parsed);
        return;
      }
      if (this.callers.steer(parsed, reply)) return;
    } else if (!holdsCalls(parsed)) return;
    this.callers.answerBeside(parsed, text, message, reply);
  }
}

const forNow = "there is no connection to NATS at the moment";
const forGood = "the connection to NATS is closed";

function notConnected(sentence: string, cause?: unknown): WireError {
  return new WireError("CONNECTION_FAILED", sentence, { cause });
}
