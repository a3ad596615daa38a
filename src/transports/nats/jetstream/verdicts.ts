import { inboxOf } from "../address.ts";
import type { NatsConnection, Subscription } from "../client-library.ts";
import { ConnectionState, type StateListener } from "../connection-state.ts";
import { headersIn } from "../headers.ts";
import type { JsMsg } from "./client-library.ts";

/** What became of a notification, as the engine is told. */
interface Verdict {
  /** Where the engine hears of this delivery. */
  readonly subject: string;
  readonly text: string;
  /** Until when it may be told again, in the time of `performance.now`. */
  readonly until: number;
  /** When it was told last, in the same time. */
  toldAt: number;
  /** After this time without a confirmation it is told again. */
  pauseMs: number;
  isConfirmed: boolean;
}

/** The pause before a verdict is told again; it doubles from then on. */
const firstPauseMs = 500;
const longestPauseMs = 2_000;
/** So long what was confirmed is kept in mind: an engine that is killed forgets what it has not yet written down. */
const memoryMs = 5_000;
const nanosecondsPerMs = 1e6;
/** So many at most are kept in mind; of more, the older half is forgotten. */
const mostKept = 10_000;

/**
 * Tells the engine what became of notifications, and again where it does not confirm that: what it did not hear it
 * would wait for, and a key with it. That makes sense until it may have given the notification to another.
 */
export class Verdicts implements StateListener {
  readonly #connection: NatsConnection;
  readonly #state: ConnectionState;
  readonly #ackWaitMs: number;
  readonly #inbox: string;
  readonly #confirmations: Subscription;
  readonly #kept = new Map<string, Verdict>();
  #unconfirmed = 0;
  #count = 0;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: NatsConnection, ackWaitMs: number) {
    this.#connection = connection;
    this.#state = ConnectionState.of(connection);
    this.#state.listeners.add(this);
    this.#ackWaitMs = ackWaitMs;
    this.#inbox = inboxOf(connection);
    this.#confirmations = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        // With a code, it is word that nobody heard it.
        if (error !== null || (headersIn(message)?.code ?? 0) !== 0) return;
        const verdict = this.#kept.get(message.subject.slice(this.#inbox.length + 1));
        if (verdict !== undefined) this.#settle(verdict);
      },
    });
  }

  /** How many the engine may still confirm; none while it is away. */
  get size(): number {
    return this.#state.down ? 0 : this.#unconfirmed;
  }

  /** It was handled, and can be forgotten. */
  done(message: JsMsg): void {
    this.#tell(message, "+ACK", this.#ackWaitMs);
  }

  /** It is to be tried again, not before this time has passed. */
  again(message: JsMsg, delayMs: number): void {
    const delay = Math.round(delayMs * nanosecondsPerMs);
    const text = delay === 0 ? "-NAK" : `-NAK {"delay":${delay}}`;
    // Told after the next try has begun, it would bring one more. The engine counts from the last sign of work that it has heard.
    this.#tell(message, text, Math.min(delayMs, this.#ackWaitMs / 2));
  }

  restored(): void {
    for (const verdict of this.#kept.values()) {
      if (verdict.isConfirmed) this.#unconfirmed++;
      verdict.isConfirmed = false;
      verdict.toldAt = Number.NEGATIVE_INFINITY;
      verdict.pauseMs = firstPauseMs;
    }
    this.#look();
  }

  /** Whatever comes from now on is told once. */
  close(): void {
    this.#isClosed = true;
    this.#state.listeners.delete(this);
    clearTimeout(this.#timer);
    this.#kept.clear();
    this.#unconfirmed = 0;
    if (!this.#connection.isClosed()) this.#confirmations.unsubscribe();
  }

  #tell(message: JsMsg, text: string, repeatMs: number): void {
    // The type does not tell of it, and what the message itself offers cannot be repeated.
    const { reply: subject } = message as JsMsg & { readonly reply: string };
    const now = performance.now();
    const verdict: Verdict = {
      subject,
      text,
      until: now + repeatMs,
      toldAt: now,
      pauseMs: firstPauseMs,
      isConfirmed: false,
    };
    const token = `${++this.#count}`;
    if (!this.#isClosed) this.#keep(token, verdict);
    this.#send(token, verdict);
  }

  #keep(token: string, verdict: Verdict): void {
    this.#kept.set(token, verdict);
    this.#unconfirmed++;
    this.#timer ??= this.#inAWhile();
    if (this.#kept.size <= mostKept) return;
    for (const [oldest, old] of this.#kept) {
      this.#forget(oldest, old);
      if (this.#kept.size <= mostKept / 2) break;
    }
  }

  #send(token: string, { subject, text }: Verdict): void {
    try {
      this.#connection.publish(subject, text, { reply: `${this.#inbox}.${token}` });
    } catch {
      // The connection is closed; the engine will give the notification to another.
    }
  }

  #settle(verdict: Verdict): void {
    if (!verdict.isConfirmed) this.#unconfirmed--;
    verdict.isConfirmed = true;
  }

  #forget(token: string, verdict: Verdict): void {
    this.#settle(verdict);
    this.#kept.delete(token);
  }

  #inAWhile(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#look();
      this.#timer = this.#kept.size > 0 ? this.#inAWhile() : undefined;
    }, firstPauseMs).unref();
  }

  /** Tells again what is due, and forgets what is over. While the engine is away, nothing is due or over. */
  #look(): void {
    if (this.#state.down) return;
    const now = performance.now();
    for (const [token, verdict] of this.#kept) {
      const { until, toldAt, pauseMs, isConfirmed } = verdict;
      if (now >= until || (isConfirmed && now >= toldAt + memoryMs)) this.#forget(token, verdict);
      else if (!isConfirmed && now >= toldAt + pauseMs) {
        verdict.pauseMs = Math.min(longestPauseMs, pauseMs * 2);
        verdict.toldAt = now;
        this.#send(token, verdict);
      }
    }
  }
}
