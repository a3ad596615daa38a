import { ErrorCode } from "../../protocol/errors.ts";
import type { ErrorObject } from "../../protocol/message.ts";
import { endCalls } from "../../protocol/origin-calls.ts";
import type { Service } from "../../protocol/service.ts";
import type { Caller } from "./caller.ts";
import type { Mailbox } from "./mailbox.ts";
import { isFromAnotherAccount } from "./reply-subjects.ts";

const callerSilent: ErrorObject = {
  code: ErrorCode.RequestCancelled,
  message: "Request cancelled",
  data: { details: "there was no sign of the caller for too long" },
};

/**
 * Looks after the streams of callers that are not mailboxes. Without it, whoever may call a stream could have any number of them run
 * for ever, each for a caller that never existed.
 */
export class StreamProbes {
  readonly #mailbox: Mailbox;
  readonly #service: Service;
  /** So many rounds may pass without a sign of a caller in another account. */
  readonly #mostSilentRounds: number;

  constructor(mailbox: Mailbox, service: Service, mostSilentRounds: number) {
    this.#mailbox = mailbox;
    this.#service = service;
    this.#mostSilentRounds = mostSilentRounds;
  }

  run(): void {
    for (const [, first] of this.#mailbox.callers.held()) {
      for (let caller: Caller | undefined = first; caller !== undefined; caller = caller.next) {
        if (!caller.from.isProbeable && caller.origin.openStreams > 0) this.#look(caller);
      }
    }
  }

  /** NATS says if nobody hears an item, or the notice that is sent in its place. It does not say so to another account. */
  #look(caller: Caller): void {
    const { items, itemsBefore, origin, reply } = caller;
    caller.itemsBefore = items;
    if (itemsBefore === undefined) return;
    const isAfar = isFromAnotherAccount(reply);
    if (isAfar && ++caller.silentRounds >= this.#mostSilentRounds)
      endCalls(this.#service.running, origin, callerSilent);
    else if (isAfar || items === itemsBefore)
      this.#mailbox.tell(reply, caller.heldText, this.#mailbox.callers.addressOf(caller));
  }
}
