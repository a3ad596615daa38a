import { type Envelope, isEnvelope } from "../../protocol/parse.ts";
import { requestText } from "../../protocol/serialize.ts";
import { doorbellOf } from "./address.ts";
import type { Mailbox } from "./mailbox.ts";

const helloText = requestText({ jsonrpc: "2.0", method: "$/hello" });

/** Finds out whether the others answer when they are asked after a call; a service in another language does not. */
export class Greeting {
  readonly #mailbox: Mailbox;
  /** Where all of them listen. */
  readonly #everybody: string | undefined;
  #said = false;
  #answered = false;

  constructor(mailbox: Mailbox, everybody: string | undefined) {
    this.#mailbox = mailbox;
    this.#everybody = everybody;
  }

  get answered(): boolean {
    return this.#answered;
  }

  /** Unless those who are there have heard it. */
  sayOnce(): void {
    if (!this.#said) this.say();
  }

  /** Unless somebody is known who answers. */
  sayUnlessAnswered(): void {
    if (!this.#answered) this.say();
  }

  say(): void {
    this.#said = true;
    if (this.#everybody === undefined) return;
    this.#mailbox.tell(this.#everybody, helloText, doorbellOf(this.#mailbox.address));
  }

  /** Nobody was there, so those who come have not heard it. */
  unheard(): void {
    this.#said = false;
  }

  take({ params }: Envelope): void {
    const { reply } = (isEnvelope(params) ? params : {}) as { reply?: unknown };
    // Between accounts the engine writes other names, by which no call could be found.
    this.#answered = reply === doorbellOf(this.#mailbox.address);
  }
}
