import { ConnectionState } from "./connection-state.ts";
import type { Greeting } from "./greeting.ts";
import type { Mailbox } from "./mailbox.ts";
import type { OpenCall } from "./open-call.ts";

/** The calls that may have been lost. */
export interface Asking {
  readonly greeting: Greeting;
  /** All that is open, by its token. */
  open(): readonly (readonly [string, OpenCall])[];
  /** Asks after one; it is lost where too many questions were not answered. */
  askAfter(token: string, call: OpenCall): void;
}

/** So often at least it is asked. */
const longestMs = 800;

/**
 * Asks sooner than usual after calls that may have been lost with a node of the engine. Else that would be noticed late,
 * and one who waits for them would not go on.
 */
export class Hurry {
  readonly #mailbox: Mailbox;
  readonly #asking: Asking;
  readonly #state: ConnectionState;
  readonly #everyMs: number;
  /** In the first nobody may be known who can be asked; the last loses what nobody has answered for. */
  readonly #mostRounds: number;
  #roundsLeft = 0;
  /** Whether a call turned out to be held since the last round. */
  #hasAnswers = false;

  constructor(mailbox: Mailbox, asking: Asking, aliveMs: number, mostUnanswered: number) {
    this.#mailbox = mailbox;
    this.#asking = asking;
    this.#state = ConnectionState.of(mailbox.connection);
    this.#everyMs = Math.min(longestMs, aliveMs);
    this.#mostRounds = mostUnanswered + 2;
  }

  /** A node is gone. All that is open may have been lost, but for what waits to be sent again. */
  begin(): void {
    for (const [, call] of this.#asking.open()) {
      call.endangered = call.patience === 0;
      call.asked = 0;
    }
    this.#asking.greeting.sayUnlessAnswered();
    const isAtIt = this.#roundsLeft > 0;
    this.#roundsLeft = this.#mostRounds;
    if (!isAtIt) this.#next();
  }

  /** Somebody has this call. */
  held(call: OpenCall): void {
    this.#hasAnswers ||= call.endangered;
    call.endangered = false;
  }

  #next(): void {
    this.#mailbox.later(this.#everyMs, async () => {
      this.#round();
      if (this.#roundsLeft === 0) return;
      // Where this end was busy, the answers to the last questions wait before this one.
      await this.#state.orGone(this.#mailbox.connection.flush());
      this.#next();
    });
  }

  #round(): void {
    const endangered = this.#asking.open().filter(([, call]) => call.endangered);
    // What is left when this end was without the engine is sent anew.
    if (endangered.length === 0 || this.#state.down) this.#roundsLeft = 0;
    // While answers still come, the others may be among them.
    else if (this.#hasAnswers) this.#hasAnswers = false;
    else {
      this.#roundsLeft--;
      this.#asking.greeting.sayUnlessAnswered();
      for (const [token, call] of endangered) this.#asking.askAfter(token, call);
    }
    // From then on it is asked as usual.
    if (this.#roundsLeft === 0) for (const [, call] of endangered) call.endangered = false;
  }
}
