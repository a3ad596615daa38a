import { callPeer, ResultOnly } from "../../connection/peer-call.ts";
import { exchangeLink } from "../../protocol/exchange.ts";
import type { Link, Outgoing } from "../../protocol/link.ts";
import type { Linked } from "../../protocol/linked-list.ts";
import type { Params, Reply, Request } from "../../protocol/message.ts";
import type { Origin, Peer } from "../../protocol/origin.ts";
import { requestText } from "../../protocol/serialize.ts";
import { asError } from "../../protocol/standard-errors.ts";
import type { Caller } from "./callers.ts";
import type { Mailbox } from "./mailbox.ts";
import { controlSubjectOf } from "./subjects.ts";

/** One payload that is being answered. It is the peer of its calls, and sends to the subject of the reply. */
export class IncomingCall implements Peer, Linked<IncomingCall> {
  readonly reply: string;
  readonly caller: Caller;
  readonly #mailbox: Mailbox;
  declare origin: Origin;
  prev: IncomingCall | undefined = undefined;
  next: IncomingCall | undefined = undefined;
  /** The last token of the subject for messages about this call, once the caller knows it. */
  token = "";
  /** Whether its payload has not been answered yet. */
  isOpen = true;
  /** Whether the caller cancelled a call of this payload. */
  isCancelled = false;
  /** Items sent. */
  items = 0;
  /** Items for which the caller gave credit. */
  credit = 0;
  /** Messages of its upload that arrived: items, and the end. */
  uploaded = 0;
  /** Items of its upload that were asked for. */
  granted = 0;
  /** Items sent at the last stream probe; undefined before the first. */
  probedItems: number | undefined = undefined;
  /** Stream probes since the last sign of the caller. */
  silentRounds = 0;
  #link: Link | undefined;
  #closed: Promise<void> | undefined;
  #resolveClosed: (() => void) | undefined;

  constructor(mailbox: Mailbox, reply: string, caller: Caller) {
    this.#mailbox = mailbox;
    this.reply = reply;
    this.caller = caller;
  }

  get canNotify(): boolean {
    return this.reply !== "" && !this.origin.aborted;
  }

  /** A caller in another account cannot publish to this worker. */
  get givesCredit(): boolean {
    return this.caller.isReachable;
  }

  /** The total is sent too, since messages can be lost. */
  get grantUpload(): Peer["grantUpload"] {
    if (!this.caller.isReachable) return undefined;
    return (id, count) => {
      this.granted += count;
      this.notify("$/uploadCredit", { id, count, total: this.granted });
    };
  }

  get end(): Peer | undefined {
    return this.caller.peer;
  }

  /** An unreachable caller counts as gone once its payload is answered. */
  get closed(): Promise<void> {
    if (this.caller.isReachable) return this.caller.closed;
    this.#closed ??= new Promise((resolve) => {
      this.#resolveClosed = resolve;
      if (!this.isOpen) resolve();
    });
    return this.#closed;
  }

  answered(): void {
    this.isOpen = false;
    this.#resolveClosed?.();
  }

  call(method: string, params?: Params, options?: { signal?: AbortSignal }): Promise<unknown> {
    return callPeer(this, method, params, options);
  }

  notify(method: string, params?: Params): boolean {
    if (this.reply === "" || this.#mailbox.isClosed) return false;
    // Not to a caller that cancelled and has its answer.
    if (this.origin.aborted || (this.isCancelled && !this.isOpen)) return false;
    const { link } = this.#mailbox;
    if (link !== undefined && !method.startsWith("$/")) {
      void link.send({ jsonrpc: "2.0", method, params }, new ResultOnly(method)).catch(() => {});
      return true;
    }
    const isItem = method === "$/stream";
    const sent = isItem ? { ...params, seq: this.items + 1 } : params;
    const text = requestText({ jsonrpc: "2.0", method, params: sent });
    // A stream must not leave out an item silently.
    if (!this.#mailbox.fits(text)) throw asError(this.#mailbox.tooLarge("an item"));
    if (isItem) this.items++;
    const address = this.isOpen ? this.#mailbox.incoming.subjectOf(this) : undefined;
    return this.#mailbox.trySend(this.reply, text, address);
  }

  ready(): Promise<void> | undefined {
    return this.#mailbox.ready();
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return this.#linkBack().send(request, outgoing);
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    return this.#linkBack().sendBatch(requests, outgoing);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Calls to a worker go to the subjects of its methods; to any other caller, to the reply subject. */
  #linkBack(): Link {
    if (this.#mailbox.link !== undefined) return this.#mailbox.link;
    const remote = this.caller.isReachable ? controlSubjectOf(this.caller.name) : undefined;
    const route = { subject: this.reply, remote };
    const { outgoing } = this.#mailbox;
    this.#link ??= exchangeLink((text, payload) =>
      outgoing.exchange(route, text, payload, undefined),
    );
    return this.#link;
  }
}
