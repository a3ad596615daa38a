import { inboxOf } from "../address.ts";
import type { NatsConnection, Subscription } from "../client-library.ts";
import { ConnectionState, type StateListener } from "../connection-state.ts";
import type { JsMsg } from "./client-library.ts";

/** What became of a notification, as the engine has yet to confirm that it knows. */
interface Verdict {
  /** Where the engine hears of this delivery. */
  readonly subject: string;
  readonly text: string;
  /** Until when it may be told again, in the time of `performance.now`. */
  readonly until: number;
  nextAt: number;
  pauseMs: number;
}

/** The pause before a verdict is told again; it doubles from then on. */
const firstPauseMs = 500;
const nanosecondsPerMs = 1e6;
/** So many at most are kept in mind: an engine that confirms nothing must not fill the memory. */
const mostOpen = 10_000;

/**
 * Tells the engine what became of notifications, and again where it does not confirm that: what it did not hear it
 * would wait for, and a key with it. That makes sense only until it may have given the notification to another.
 */
export class Verdicts implements StateListener {
  readonly #connection: NatsConnection;
  readonly #state: ConnectionState;
  readonly #repeatMs: number;
  readonly #inbox: string;
  readonly #confirmations: Subscription;
  readonly #open = new Map<string, Verdict>();
  #count = 0;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: NatsConnection, ackWaitMs: number) {
    this.#connection = connection;
    this.#state = ConnectionState.of(connection);
    this.#state.listeners.add(this);
    // The engine counts from the last sign of work, which came at most so long before.
    this.#repeatMs = ackWaitMs / 2;
    this.#inbox = inboxOf(connection);
    this.#confirmations = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, { subject, headers }) => {
        // With a code, it is word that nobody heard it.
        if (error !== null || (headers?.code ?? 0) !== 0) return;
        this.#open.delete(subject.slice(this.#inbox.length + 1));
      },
    });
  }

  /** How many the engine may still confirm; none while it is away. */
  get size(): number {
    return this.#state.down ? 0 : this.#open.size;
  }

  /** It was handled, and can be forgotten. */
  done(message: JsMsg): void {
    this.#tell(message, "+ACK", this.#repeatMs);
  }

  /** It is to be tried again, not before this time has passed. */
  again(message: JsMsg, delayMs: number): void {
    const delay = Math.round(delayMs * nanosecondsPerMs);
    const text = delay === 0 ? "-NAK" : `-NAK {"delay":${delay}}`;
    // Told after the next try has begun, it would bring one more.
    this.#tell(message, text, Math.min(delayMs, this.#repeatMs));
  }

  restored(): void {
    for (const verdict of this.#open.values()) {
      verdict.nextAt = 0;
      verdict.pauseMs = firstPauseMs;
    }
    this.#repeat();
  }

  /** Whatever comes from now on is told once. */
  close(): void {
    this.#isClosed = true;
    this.#state.listeners.delete(this);
    clearTimeout(this.#timer);
    this.#open.clear();
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
      nextAt: now + firstPauseMs,
      pauseMs: firstPauseMs,
    };
    const token = `${++this.#count}`;
    this.#open.set(token, verdict);
    if (this.#open.size > mostOpen) {
      for (const oldest of this.#open.keys()) {
        this.#open.delete(oldest);
        break;
      }
    }
    this.#send(token, verdict);
    if (this.#isClosed) this.#open.clear();
    else this.#timer ??= this.#inAWhile();
  }

  #send(token: string, { subject, text }: Verdict): void {
    try {
      this.#connection.publish(subject, text, { reply: `${this.#inbox}.${token}` });
    } catch {
      // The connection is closed; the engine will give the notification to another.
      this.#open.delete(token);
    }
  }

  #inAWhile(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#timer = undefined;
      this.#repeat();
      if (this.#open.size > 0) this.#timer = this.#inAWhile();
    }, firstPauseMs);
  }

  #repeat(): void {
    const now = performance.now();
    for (const [token, verdict] of this.#open) {
      if (now >= verdict.until) this.#open.delete(token);
      else if (now >= verdict.nextAt && !this.#state.down) {
        verdict.pauseMs *= 2;
        verdict.nextAt = now + verdict.pauseMs;
        this.#send(token, verdict);
      }
    }
  }
}
