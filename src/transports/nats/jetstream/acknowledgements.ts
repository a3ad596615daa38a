import { type NatsConnection, nanos, type Subscription } from "../client-library.ts";
import { ConnectionState, type StateListener } from "../connection.ts";
import { headersIn } from "../headers.ts";
import { newInbox } from "../subjects.ts";
import type { JsMsg } from "./client-library.ts";

interface Acknowledgement {
  /** The subject of this delivery's acknowledgement. */
  readonly subject: string;
  readonly text: string;
  /** Until when it may be repeated, in the time of `performance.now`. */
  readonly until: number;
  confirmedAt: number | undefined;
}

const repeatMs = 500;
/** How long confirmed ones are kept: a nats-server that is killed forgets what it has not yet written. */
const keepConfirmedMs = 5_000;
const mostKept = 10_000;

/**
 * Acknowledges notifications, and repeats what JetStream does not confirm; otherwise the notification, and its key, would wait for
 * `ackWaitMs`. After that time JetStream may have given the notification to another worker.
 */
export class Acknowledgements implements StateListener {
  readonly #connection: NatsConnection;
  readonly #state: ConnectionState;
  readonly #ackWaitMs: number;
  readonly #inbox: string;
  readonly #confirmations: Subscription;
  readonly #kept = new Map<string, Acknowledgement>();
  #count = 0;
  #isClosed = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(connection: NatsConnection, ackWaitMs: number) {
    this.#connection = connection;
    this.#state = ConnectionState.of(connection);
    this.#state.listeners.add(this);
    this.#ackWaitMs = ackWaitMs;
    this.#inbox = newInbox(connection);
    this.#confirmations = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        // A code means that it was not delivered.
        if (error !== null || (headersIn(message)?.code ?? 0) !== 0) return;
        const kept = this.#kept.get(message.subject.slice(this.#inbox.length + 1));
        if (kept !== undefined) kept.confirmedAt = performance.now();
      },
    });
  }

  /** How many may still be confirmed; none while the connection is down. */
  get pending(): number {
    if (this.#state.down) return 0;
    return Array.from(this.#kept.values()).filter(({ confirmedAt }) => confirmedAt === undefined)
      .length;
  }

  done(message: JsMsg): void {
    this.#add(message, "+ACK", this.#ackWaitMs);
  }

  /** The notification is to be delivered again after this delay. */
  again(message: JsMsg, delayMs: number): void {
    const delay = Math.round(nanos(delayMs));
    const text = delay === 0 ? "-NAK" : `-NAK {"delay":${delay}}`;
    // Repeated after the next delivery, it would cause one more.
    this.#add(message, text, Math.min(delayMs, this.#ackWaitMs / 2));
  }

  /**
   * Tells JetStream while something runs that this worker still has the message. These signs are lost during an election, of 9 seconds or
   * more, and the next must arrive within `ackWaitMs`; otherwise the message runs twice concurrently.
   */
  async whileWorking<T>(message: JsMsg, run: () => Promise<T>): Promise<T> {
    const timer = setInterval(() => message.working(), Math.min(2_000, this.#ackWaitMs / 3));
    try {
      return await run();
    } finally {
      clearInterval(timer);
    }
  }

  /** Repeats everything that is kept: nats-server may have lost it. */
  restored(): void {
    for (const each of this.#kept.values()) each.confirmedAt = undefined;
    this.#repeat();
  }

  /** From now on acknowledgements are sent once. */
  close(): void {
    this.#isClosed = true;
    this.#state.listeners.delete(this);
    clearInterval(this.#timer);
    this.#kept.clear();
    if (!this.#connection.isClosed()) this.#confirmations.unsubscribe();
  }

  #add(message: JsMsg, text: string, lastingMs: number): void {
    // Missing in the type, and the message's own methods cannot be repeated.
    const { reply: subject } = message as JsMsg & { readonly reply: string };
    const until = performance.now() + lastingMs;
    const added = { subject, text, until, confirmedAt: undefined };
    const token = `${++this.#count}`;
    this.#send(token, added);
    if (this.#isClosed) return;
    this.#kept.set(token, added);
    this.#timer ??= setInterval(() => this.#repeat(), repeatMs).unref();
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value ?? "");
  }

  #send(token: string, { subject, text }: Acknowledgement): void {
    try {
      this.#connection.publish(subject, text, { reply: `${this.#inbox}.${token}` });
    } catch {
      // The connection is closed; JetStream will deliver the notification to another worker.
    }
  }

  /** Repeats what is not confirmed, and drops what has expired; neither while the connection is down. */
  #repeat(): void {
    if (this.#state.down) return;
    const now = performance.now();
    for (const [token, each] of this.#kept) {
      const { until, confirmedAt = now } = each;
      if (now >= Math.min(until, confirmedAt + keepConfirmedMs)) this.#kept.delete(token);
      else if (each.confirmedAt === undefined) this.#send(token, each);
    }
    if (this.#kept.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
