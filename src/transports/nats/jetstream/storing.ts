import { WireError } from "../../../protocol/errors.ts";
import type { MsgHdrs, NatsConnection } from "../client-library.ts";
import { isForbidden, saysNobody, unavailableCode } from "../engine-errors.ts";
import { saysTooLarge, tooLarge } from "../too-large.ts";
import { jetstream, type PubAck } from "./client-library.ts";
import { refusalOf, refused } from "./refusal.ts";

/** A notification on its way into a stream. */
export interface Storing {
  readonly subject: string;
  readonly stream: string;
  /** Where it may go while nobody takes it at its subject. */
  readonly spare?: Spare | undefined;
  /** Its id was not made for this sending alone, so it may be stored already. */
  readonly isNamed: boolean;
  readonly text: string;
  readonly options: { readonly headers: MsgHdrs; readonly msgID: string };
  /** Until when it has to be stored, in the time of `performance.now`. */
  readonly end: number;
  /** After this time without an answer it is sent again. */
  readonly attemptMs: number;
  /** Throws where nothing is to be sent any more. */
  mayGoOn(): void;
}

/** The stream that stands in for another. */
export interface Spare {
  /** What is sent there is handled from there. */
  readonly any: string;
  /** What is sent there is taken home, where the engine sees whether it has it already. */
  readonly back: string;
  /** Whether it is asked first. */
  readonly isPreferred: boolean;
  /** It has taken what the other did not. */
  prefer(): void;
}

/** What the engine said when it had stored a notification. */
export interface Stored extends Pick<PubAck, "stream" | "seq" | "duplicate"> {
  /** How often it was sent. After more than once, it may be a duplicate of itself. */
  readonly attempts: number;
}

const longestWaitMs = 250;

/** Resolves once the engine has stored it; rejects as soon as it surely will not, or when its time is up. */
export async function store(connection: NatsConnection, storing: Storing): Promise<Stored> {
  const attempts = new Attempts(connection, storing);
  let waitMs = 25;
  const soon = storing.spare?.isPreferred ? await attempts.spare() : undefined;
  if (soon !== undefined) return soon;
  while (storing.end > performance.now()) {
    const stored = (await attempts.home()) ?? (await attempts.spare());
    if (stored !== undefined) return stored;
    await attempts.mustMakeSense();
    waitMs = Math.min(longestWaitMs, waitMs * 2);
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  throw attempts.failed();
}

class Attempts {
  readonly #connection: NatsConnection;
  readonly #storing: Storing;
  /** Why it is not stored at home, as far as is known. */
  #failure: unknown;
  #attempts = 0;
  #isAsked = false;
  /** It may be there, or come there, although nobody has confirmed it. */
  #mayBeHome = false;
  /** It may be handled from the spare stream; so it must not come home as well. */
  #mayBeInSpare = false;

  constructor(connection: NatsConnection, storing: Storing) {
    this.#connection = connection;
    this.#storing = storing;
  }

  /** Undefined unless the stream has it now. Throws where it never will. */
  async home(): Promise<Stored | undefined> {
    if (this.#mayBeInSpare) return undefined;
    const { stored, error } = await this.#publish(this.#storing.subject);
    if (stored !== undefined) return stored;
    this.#failure = error;
    this.#mayBeHome ||= !surelyNotStored(error);
    if (this.#connection.isClosed() || isRefusal(error)) throw this.failed();
    return undefined;
  }

  /** Undefined unless the spare stream has it now. */
  async spare(): Promise<Stored | undefined> {
    const { spare, isNamed } = this.#storing;
    if (spare === undefined || isForbidden(this.#failure)) return undefined;
    const goesHome = isNamed || this.#mayBeHome;
    const { stored, error } = await this.#publish(goesHome ? spare.back : spare.any);
    if (stored !== undefined) {
      if (this.#failure !== undefined) spare.prefer();
      return stored;
    }
    if (surelyNotStored(error)) return undefined;
    if (goesHome) this.#mayBeHome = true;
    else this.#mayBeInSpare = true;
    return undefined;
  }

  /**
   * Throws where more attempts would not help. A cluster that has lost the leader of the stream has another in
   * some seconds; whether this is one is asked once.
   */
  async mustMakeSense(): Promise<void> {
    if (this.#isAsked || this.#failure === undefined) return;
    this.#isAsked = true;
    const connection = this.#connection;
    const why = await refusalOf(this.#failure, this.#storing, connection, this.#patienceMs);
    if (why !== undefined) throw refused(why, this.#failure);
  }

  failed(): WireError {
    const cause = this.#failure;
    if (this.#mayBeHome || this.#mayBeInSpare) {
      const sentence = "NATS did not confirm that it has stored the notification";
      return new WireError("CONNECTION_LOST", sentence, { cause });
    }
    if (cause === undefined) {
      const sentence = "its time was up before those of its key ahead of it were stored";
      return refused(`the notification was not sent: ${sentence}`, cause);
    }
    const { subject } = this.#storing;
    const why = saysNobody(cause) ? `no stream answers at ${subject}` : (cause as Error).message;
    return refused(`NATS did not store the notification: ${why}`, cause);
  }

  /** How long one attempt may take. */
  get #patienceMs(): number {
    const { attemptMs, end } = this.#storing;
    return Math.max(1, Math.min(attemptMs, end - performance.now()));
  }

  /** What the engine confirmed, or why it did not. */
  async #publish(subject: string): Promise<{ stored?: Stored; error?: unknown }> {
    const { text, options, mayGoOn } = this.#storing;
    mayGoOn();
    const more = { ...options, timeout: this.#patienceMs };
    try {
      const attempts = ++this.#attempts;
      const ack = await jetstream(this.#connection).publish(subject, text, more);
      const { stream, seq, duplicate } = ack;
      return { stored: { stream, seq, duplicate, attempts } };
    } catch (error) {
      if (saysTooLarge(error)) throw tooLarge(this.#connection, error);
      return { error };
    }
  }
}

/** The engine answered, and said no. */
function isAnswer(error: unknown): boolean {
  return (error as Error).name === "JetStreamApiError";
}

/** It will say the same again. */
function isRefusal(error: unknown): boolean {
  return isAnswer(error) && (error as { code?: unknown }).code !== unavailableCode;
}

function surelyNotStored(error: unknown): boolean {
  const isUnsent = (error as Error).name === "ClosedConnectionError" || isForbidden(error);
  return isUnsent || isAnswer(error) || saysNobody(error);
}
