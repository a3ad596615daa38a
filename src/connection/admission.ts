import type { Admit } from "../protocol/handle.ts";
import { type ErrorObject, isThenable } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";

/** What a service said about whoever opens a connection. */
export type Verdict = Principal | ErrorObject | undefined;

/** No more messages are held however short they are: each takes more memory than its text. */
const mostHeld = 1_000;

/** The question who the other end is, and the messages that come before it is answered. */
export class Admission {
  readonly #held: string[] = [];
  #length = 0;
  #open = true;
  /** Resolves when it is decided. */
  readonly decided: Promise<void> | undefined;

  /** `decide` gets the verdict, in this call where the service knows at once, and what was held. */
  constructor(
    admit: Admit,
    transport: Transport,
    decide: (verdict: Verdict, held: readonly string[]) => void,
  ) {
    const settle = (verdict: Verdict): void => {
      this.#open = false;
      decide(verdict, this.#held);
    };
    const verdict = admit(transport);
    if (isThenable(verdict)) this.decided = Promise.resolve(verdict).then(settle);
    else settle(verdict);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** False when too many wait, or more than `mostCharacters`. */
  hold(text: string, mostCharacters: number): boolean {
    this.#length += text.length;
    if (this.#length > mostCharacters || this.#held.length === mostHeld) return false;
    this.#held.push(text);
    return true;
  }
}
