import type { Admit } from "../protocol/handle.ts";
import { type ErrorObject, isThenable } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";

/** The decision about a connection: a principal, an error, or undefined for an anonymous peer. */
export type Decision = Principal | ErrorObject | undefined;

/** Most messages held, however short: each takes more memory than its length. */
const mostHeld = 1_000;

/** Asks the service about a new connection, and holds the messages that arrive before the decision. */
export class Admission {
  readonly #held: string[] = [];
  #length = 0;
  #open = true;
  /** Resolves when the decision is made; undefined if it was made at once. */
  readonly decided: Promise<void> | undefined;

  /** `decide` gets the decision and the held messages, synchronously if the service decides at once. */
  constructor(
    admit: Admit,
    transport: Transport,
    decide: (decision: Decision, held: readonly string[]) => void,
  ) {
    const settle = (decision: Decision): void => {
      this.#open = false;
      decide(decision, this.#held);
    };
    const decision = admit(transport);
    if (isThenable(decision)) this.decided = Promise.resolve(decision).then(settle);
    else settle(decision);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** False if too many messages are held, or more than `mostCharacters`. */
  hold(text: string, mostCharacters: number): boolean {
    this.#length += text.length;
    if (this.#length > mostCharacters || this.#held.length === mostHeld) return false;
    this.#held.push(text);
    return true;
  }
}
