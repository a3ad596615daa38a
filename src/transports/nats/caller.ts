import { callPeer } from "../../connection/peer-call.ts";
import { ErrorCode, RpcError } from "../../protocol/errors.ts";
import type { Link, Outgoing } from "../../protocol/link.ts";
import type { Params, Reply, Request } from "../../protocol/message.ts";
import type { Origin, Peer } from "../../protocol/origin.ts";
import { requestText } from "../../protocol/serialize.ts";
import { doorbellOf } from "./address.ts";
import { batchLink } from "./batch-link.ts";
import { numbered } from "./item-numbers.ts";
import type { Mailbox } from "./mailbox.ts";
import type { RemoteEnd } from "./remote-end.ts";

/** The one who sent a payload. It hears at the subject that the reply will go to. */
export class Caller implements Peer {
  readonly reply: string;
  readonly from: RemoteEnd;
  readonly #mailbox: Mailbox;
  declare origin: Origin;
  /** Another payload with the same reply subject. */
  next: Caller | undefined;
  /** The last part of the address at which it steers its call, once it has been told. */
  token: string;
  /** Whether its payload is still being worked on. */
  open: boolean;
  /** Whether it has given up a call of this payload. */
  cancelled: boolean;
  /** How many items were sent for it. */
  items: number;
  /** For how many items it has given credit. */
  given: number;
  /** How many of them were sent when it was last looked after; undefined before the first time. */
  itemsBefore: number | undefined;
  /** How often in a row it was looked after without any sign of it. */
  silentRounds: number;
  #link: Link | undefined;
  #closed: Promise<void> | undefined;
  #tellClosed: (() => void) | undefined;

  constructor(mailbox: Mailbox, reply: string, from: RemoteEnd) {
    this.#mailbox = mailbox;
    this.reply = reply;
    this.from = from;
    this.next = undefined;
    this.token = "";
    this.open = true;
    this.cancelled = false;
    this.items = 0;
    this.given = 0;
    this.itemsBefore = undefined;
    this.silentRounds = 0;
  }

  get canNotify(): boolean {
    return this.reply !== "" && !this.origin.aborted;
  }

  /** Tells it that its call runs, and how many items were sent, since these may be lost. */
  get heldText(): string {
    const params = this.items === 0 ? undefined : { items: this.items };
    return requestText({ jsonrpc: "2.0", method: "$/held", params });
  }

  /** Whoever is asked from another account has no way to this end, and could not give any. */
  get givesCredit(): boolean {
    return this.from.stays;
  }

  get end(): Peer | undefined {
    return this.from.peer;
  }

  /** Of one that cannot be asked nothing is known once it has its answer. */
  get closed(): Promise<void> {
    if (this.from.stays) return this.from.closed;
    this.#closed ??= new Promise((resolve) => {
      this.#tellClosed = resolve;
      if (!this.open) resolve();
    });
    return this.#closed;
  }

  /** Its payload has been answered. */
  leave(): void {
    this.open = false;
    this.#tellClosed?.();
  }

  call(method: string, params?: Params, options?: { signal?: AbortSignal }): Promise<unknown> {
    return callPeer(this, method, params, options);
  }

  notify(method: string, params?: Params): boolean {
    if (this.reply === "" || this.#mailbox.closed) return false;
    // Who gave up does not hear what a handler goes on to say.
    if (this.origin.aborted || (this.cancelled && !this.open)) return false;
    const { way } = this.#mailbox;
    if (way !== undefined && !method.startsWith("$/")) {
      void way.send({ jsonrpc: "2.0", method, params }, unheeded()).catch(() => {});
      return true;
    }
    const isItem = method === "$/stream";
    const said = isItem ? numbered(params, this.items + 1) : params;
    const text = requestText({ jsonrpc: "2.0", method, params: said });
    if (!this.#mailbox.fits(text)) {
      // An item that is left out would make a stream wrong without a word.
      throw new RpcError(ErrorCode.ReplyTooLarge, "Reply too large", {
        details: `NATS takes at most ${this.#mailbox.maxBytes} bytes`,
      });
    }
    if (isItem) this.items++;
    const address = this.open ? this.#mailbox.callers.addressOf(this) : undefined;
    return this.#mailbox.tell(this.reply, text, address);
  }

  ready(): Promise<void> | undefined {
    return this.#mailbox.ready();
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return this.#toCaller().send(request, outgoing);
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    return this.#toCaller().sendBatch(requests, outgoing);
  }

  /** Nothing is held for one payload alone. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A worker is called like by everybody else, at the subjects of its methods: it takes no calls elsewhere. */
  #toCaller(): Link {
    if (this.#mailbox.way !== undefined) return this.#mailbox.way;
    const remote = this.from.stays ? doorbellOf(this.from.name) : undefined;
    const route = { subject: this.reply, remote };
    const { calls } = this.#mailbox;
    this.#link ??= batchLink(calls, (text, payload) =>
      calls.exchange(route, text, payload, undefined),
    );
    return this.#link;
  }
}

/** Nothing comes back for a notification. */
function unheeded(): Outgoing {
  return {
    cancel: undefined,
    headers: undefined,
    idempotent: false,
    item: () => undefined,
    progress: () => {},
    gap: () => {},
  };
}
