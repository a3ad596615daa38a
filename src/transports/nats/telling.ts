import type { Id, Params } from "../../protocol/message.ts";
import type { Envelope } from "../../protocol/parse.ts";
import { requestText } from "../../protocol/serialize.ts";
import type { Mailbox } from "./mailbox.ts";
import type { OpenCall } from "./open-call.ts";
import { namedIn } from "./tokens.ts";

const heldText = noticeText("$/held");

/** What an end says of its calls to whoever has them. */
export class Telling {
  readonly #mailbox: Mailbox;
  /** Where all are told who may have a call of which nobody is known to have it. */
  readonly #everybody: string | undefined;

  constructor(mailbox: Mailbox, everybody: string | undefined) {
    this.#mailbox = mailbox;
    this.#everybody = everybody;
  }

  /** Asks after a call. */
  ask(where: string, token: string, { given }: OpenCall): void {
    // Credit that was lost on its way would leave both ends waiting for each other.
    const text = given === 0 ? heldText : noticeText("$/held", { given });
    this.#mailbox.tell(where, text, this.#mailbox.replyTo(token));
  }

  /** It takes more items. */
  credit(where: string, token: string, id: unknown, count: number): void {
    const text = noticeText("$/credit", { id, count });
    this.#mailbox.tell(where, text, this.#mailbox.replyTo(token));
  }

  /** It waits for nothing of a payload any more. */
  cancelAll(token: string, call: OpenCall): void {
    for (const { id } of call.sending.payload.requests) this.cancel(token, call, id);
  }

  cancel(token: string, call: OpenCall, id: Id | undefined): void {
    const where = call.remote ?? this.#everybody;
    if (where === undefined || id === undefined) return;
    const text = noticeText("$/cancelRequest", { id });
    this.#mailbox.tell(where, text, this.#mailbox.replyTo(token));
  }

  /** Which of the calls that another end has nobody here waits for any more; it may not have heard that they were given up. */
  disown({ params }: Envelope, reply: string, isOpen: (token: string) => boolean): void {
    const unwanted = namedIn(params).filter((token) => !isOpen(token));
    if (unwanted.length === 0) return;
    this.#mailbox.tell(reply, noticeText("$/unwanted", { held: unwanted }));
  }
}

function noticeText(method: string, params?: Params): string {
  return requestText({ jsonrpc: "2.0", method, params });
}
