import { decodeUtf8, utf8Length } from "../../framing/utf8.ts";
import { systemClock } from "../../protocol/clock.ts";
import { type Envelope, isEnvelope } from "../../protocol/envelope.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Link } from "../../protocol/link.ts";
import type { Log } from "../../protocol/log.ts";
import type { Buffering } from "../../protocol/memory-bounds.ts";
import type { ErrorObject, Params } from "../../protocol/message.ts";
import { parsePayload } from "../../protocol/payload.ts";
import { requestText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import { replyTooLarge } from "../../protocol/standard-errors.ts";
import type { Msg, MsgHdrs, NatsConnection, Subscription } from "./client-library.ts";
import {
  ConnectionState,
  isTooLarge,
  maxBytesOf,
  requireOpen,
  type StateListener,
  tooLarge,
} from "./connection.ts";
import { hasCalls, IncomingCalls } from "./incoming-calls.ts";
import { Liveness, type LivenessOptions } from "./liveness.ts";
import { OutgoingCalls } from "./outgoing-calls.ts";
import type { ReplySubjects } from "./reply-subjects.ts";
import { mailboxAddress, type Subjects } from "./subjects.ts";

export interface MailboxOptions extends LivenessOptions {
  readonly service: Service | undefined;
  /** The service that a link calls; undefined for a worker, which only calls back. */
  readonly subjects: Subjects | undefined;
  readonly replies: ReplySubjects;
  /** Receives messages whose reply subject is not accepted. Without it they are taken as messages without one. */
  readonly refuse?: (message: Msg) => void;
}

/** A stream waits while more than this was not yet taken by nats-server. */
const mostUnflushed = 256 * 1024;
/** Most characters of replies that are kept for the next connection. */
const mostKept = 1024 * 1024;

/** A link or a worker on NATS: one subscription for replies, for what comes before them, and for messages about calls that run here. */
export class Mailbox implements StateListener, Buffering {
  readonly outgoing: OutgoingCalls;
  readonly incoming: IncomingCalls;
  readonly liveness: Liveness;
  /** Whether every caller knows the address, as that of a worker. */
  readonly isPublic: boolean;
  /** How a link calls its workers; undefined for a worker. */
  link: Link | undefined;
  readonly connection: NatsConnection;
  readonly address: string;
  readonly replies: ReplySubjects;
  readonly #options: MailboxOptions;
  readonly #state: ConnectionState;
  readonly #subscription: Subscription;
  /** Why no reply can arrive, if NATS refused the subscription. */
  #deafness: string | undefined;
  /** Replies to send on the next connection. */
  readonly #kept: (() => void)[] = [];
  #keptLength = 0;
  #unflushed = 0;
  #lastToken = 0;
  #flushing: Promise<void> | undefined;
  isClosed = false;

  constructor(connection: NatsConnection, address: string, options: MailboxOptions) {
    requireOpen(connection);
    const { subjects, service } = options;
    this.connection = connection;
    this.replies = options.replies;
    this.address = mailboxAddress(address);
    this.#options = options;
    this.isPublic = subjects === undefined;
    this.#state = ConnectionState.of(connection);
    this.outgoing = new OutgoingCalls(this, subjects);
    this.incoming = new IncomingCalls(this, service);
    this.liveness = new Liveness(this, this.#state, subjects?.workers, options);
    this.#state.listeners.add(this);
    this.#subscription = this.listen(
      `${this.address}.*`,
      (message, reply) => this.#receive(message, reply),
      { failed: (error) => this.#deafen(error, service?.log) },
    );
  }

  /**
   * Subscribes to a subject. Every message arrives here, together with the subject where it may be answered (empty for none):
   * `message.reply` is what the sender wrote, and nothing may be published there unchecked.
   */
  listen(
    subject: string,
    receive: (message: Msg, reply: string) => void,
    options: { readonly queue?: string; readonly failed?: (error: Error) => void } = {},
  ): Subscription {
    const { queue, failed } = options;
    const { refuse } = this.#options;
    return this.connection.subscribe(subject, {
      ...(queue === undefined ? {} : { queue }),
      callback: (error, message) => {
        if (error !== null) failed?.(error);
        else if (!message.reply || this.replies.accepts(message.reply))
          receive(message, message.reply ?? "");
        else if (refuse === undefined) receive(message, "");
        else refuse(message);
      },
    });
  }

  /** Publishes a message; messages of one turn leave in one write. */
  publish(subject: string, text: string, reply?: string, headers?: MsgHdrs): void {
    if (this.liveness.isSilent) throw notConnected("NATS has not answered for some time");
    if (reply && this.#deafness !== undefined) throw notConnected(this.#deafness);
    this.#publish(subject, text, reply, headers);
  }

  /** Publishes if possible, also in a partition, because the message may still arrive. Does nothing if the subject is empty. */
  trySend(subject: string, text: string, reply?: string, headers?: MsgHdrs): boolean {
    if (subject === "") return false;
    try {
      this.#publish(subject, text, reply, headers);
      return true;
    } catch {
      return false;
    }
  }

  /** Sends a notification about calls. */
  notify(subject: string, method: string, params?: Params, reply?: string): boolean {
    return this.trySend(subject, requestText({ jsonrpc: "2.0", method, params }), reply);
  }

  /** Publishes now, or on the next connection. */
  sendOrKeep(subject: string, text: string, headers: MsgHdrs | undefined): void {
    const send = (): boolean => this.trySend(subject, text, undefined, headers);
    const isDown = this.#state.down && !this.isClosed;
    if (isDown && this.#keptLength + text.length <= mostKept) {
      this.#keptLength += text.length;
      this.#kept.push(send);
    } else send();
  }

  #publish(subject: string, text: string, reply = "", headers?: MsgHdrs): void {
    if (this.isClosed) throw closed();
    if (this.#state.down) {
      const isOver = this.connection.isClosed();
      throw notConnected(isOver ? gone : "there is no connection to NATS at the moment");
    }
    if (!this.fits(text)) throw tooLarge(this.connection);
    this.#unflushed += text.length;
    try {
      const options = headers === undefined ? { reply } : { reply, headers };
      this.connection.publish(subject, text, options);
      void this.ready();
    } catch (error) {
      if (isTooLarge(error)) throw tooLarge(this.connection, error);
      throw notConnected(gone, error);
    }
  }

  /**
   * The last token of one of its subjects: for a call that it made (`o`), a call that runs in it (`c`) or a probe (`p`). On a public
   * address it must be unguessable, or one caller could cancel or answer the calls of another.
   */
  nextToken(kind: "o" | "c" | "p"): string {
    const token = `${kind}${(++this.#lastToken).toString(36)}`;
    return this.isPublic ? `${token}-${crypto.randomUUID()}` : token;
  }

  /** The reply subject for a token. */
  replyTo(token: string): string {
    return `${this.address}.${token}`;
  }

  /** The error instead of a reply or an item that does not fit into a message. */
  tooLarge(what: string): ErrorObject {
    return replyTooLarge(maxBytesOf(this.connection), `${what} over NATS`, "bytes");
  }

  /** Whether nats-server accepts a message with these headers. */
  fits(text: string, headerBytes = 0): boolean {
    const maxBytes = maxBytesOf(this.connection) - headerBytes;
    return text.length * 3 <= maxBytes || (text.length <= maxBytes && utf8Length(text) <= maxBytes);
  }

  /** What nats-server may not have taken yet. */
  get bufferedBytes(): number {
    return this.#unflushed;
  }

  /** The connection is the program's, and used by all callers, so it stays open; further calls and long replies are refused. */
  shed(): void {}

  /** Undefined while nats-server keeps up; otherwise resolves when it has taken what was sent. */
  ready(): Promise<void> | undefined {
    if (this.#flushing !== undefined) return this.#flushing;
    if (this.#unflushed < mostUnflushed || this.isClosed || this.#state.down) return undefined;
    const flushed = this.#unflushed;
    this.#flushing = this.#state.orGone(this.connection.flush()).then(() => {
      this.#unflushed -= flushed;
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  later(delayMs: number, run: () => void): void {
    const { clock = systemClock } = this.#options;
    clock.after(delayMs, () => {
      if (!this.isClosed) run();
    });
  }

  close(): void {
    if (this.isClosed) return;
    this.incoming.abandonCallers();
    this.outgoing.fail(closed());
    this.isClosed = true;
    this.liveness.close();
    this.incoming.close();
    this.#state.listeners.delete(this);
    if (!this.connection.isClosed()) this.#subscription.unsubscribe();
  }

  lost(): void {
    this.outgoing.suspend(new WireError("CONNECTION_LOST", "the connection to NATS broke"));
  }

  restored(): void {
    this.outgoing.resume();
    this.#keptLength = 0;
    for (const send of this.#kept.splice(0)) send();
    this.liveness.pingSoon();
  }

  nodeGone(): void {
    this.liveness.nodeGone();
  }

  ended(cause: Error | undefined): void {
    const message = "the connection to NATS was closed";
    this.outgoing.fail(new WireError("CONNECTION_LOST", message, { cause }));
    this.incoming.abandonCallers();
  }

  forbidden(subject: string): boolean {
    const isCall = this.outgoing.forbidden(subject);
    return this.incoming.forbidden(subject) || isCall;
  }

  /** NATS refused the subscription. Calls that were sent before that may have run. */
  #deafen(cause: Error, log: Log | undefined): void {
    this.#deafness = `this user may not subscribe to ${this.address}.*, where replies arrive`;
    log?.error({ err: cause }, this.#deafness);
    this.outgoing.fail(new WireError("CONNECTION_LOST", this.#deafness, { cause }));
  }

  /** The string in a message, or undefined if it is not UTF-8 or too long. With `isAwaited`, as for replies, any length is accepted. */
  text({ data }: Msg, isAwaited = false): string | undefined {
    if (!isAwaited && data.length > this.incoming.limits.maxMessageBytes) return undefined;
    return decodeUtf8(data, 0, data.length);
  }

  /** The single JSON-RPC message in a message of NATS, or undefined if it is anything else; and its string. */
  envelope(message: Msg): readonly [Envelope | undefined, string] {
    const text = this.text(message) ?? "";
    const parsed: unknown = parsePayload(text, 0);
    return [isEnvelope(parsed) ? parsed : undefined, text];
  }

  #receive(message: Msg, reply: string): void {
    this.liveness.received++;
    const token = message.subject.slice(this.address.length + 1);
    if (token.startsWith("o")) this.outgoing.receive(token, message, reply);
    else if (token.startsWith("c")) this.incoming.receive(token, message, reply);
    else if (token.startsWith("p")) this.liveness.receivePong(token, message);
    else this.#receiveControl(message, reply);
  }

  /** A message that is not about one call. */
  #receiveControl(message: Msg, reply: string): void {
    // NATS's report that no worker received a greeting is empty.
    if (message.data.length === 0) return;
    const text = this.text(message);
    if (text === undefined) {
      this.incoming.refuseUnreadable(message, reply);
      return;
    }
    const parsed = parsePayload(text, this.incoming.limits.maxBatch);
    if (isEnvelope(parsed)) {
      if (parsed.method === "$/ping") this.liveness.receivePing(parsed, reply);
      else if (parsed.method === "$/hello") this.liveness.receiveHello(parsed);
      else if (!this.incoming.control(parsed, text, reply))
        this.incoming.answerToMailbox(parsed, text, message, reply);
    } else if (hasCalls(parsed)) this.incoming.answerToMailbox(parsed, text, message, reply);
  }
}

const gone = "the connection to NATS is closed";

function notConnected(message: string, cause?: unknown): WireError {
  return new WireError("CONNECTION_FAILED", message, { cause });
}

function closed(): WireError {
  return new WireError("CLOSED", "the link is closed");
}
