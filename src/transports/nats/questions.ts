import { isEnvelope, parsePayload } from "../../protocol/parse.ts";
import { requestText } from "../../protocol/serialize.ts";
import { doorbellOf } from "./address.ts";
import type { Caller } from "./caller.ts";
import type { Msg } from "./client-library.ts";
import { headersIn } from "./headers.ts";
import type { Mailbox } from "./mailbox.ts";
import type { RemoteEnd, RemoteEnds } from "./remote-end.ts";
import { namedIn } from "./tokens.ts";

/** What runs for others, and how it ends. */
interface Work {
  /** All that runs, by its reply subject. */
  held(): readonly (readonly [string, Caller])[];
  /** Nobody waits for the reply at this subject any more. */
  giveUp(reply: string): void;
  /** These are gone. */
  abandon(ends: ReadonlySet<RemoteEnd>): void;
}

/** So many calls are asked after with one message. */
const mostAsked = 1_000;

/** Asks callers whether they are still there, and which of their calls they still want: a cancel can be lost on its way. */
export class Questions {
  readonly #mailbox: Mailbox;
  readonly #ends: RemoteEnds;
  readonly #work: Work;
  /** Whom the last ones went to, and whether one who does not hear is gone. */
  #asked = new Map<string, { readonly name: string; readonly goneIfUnheard: boolean }>();

  constructor(mailbox: Mailbox, ends: RemoteEnds, work: Work) {
    this.#mailbox = mailbox;
    this.#ends = ends;
    this.#work = work;
  }

  /** Just after a node died it is urgent, and one who does not hear may be on its way to another. */
  ask(isUrgent = false): void {
    this.#asked = new Map();
    const held = this.#heldFor();
    for (const end of this.#ends.all()) {
      if (!end.isProbeable) continue;
      const isNew = end.young;
      end.young = false;
      if (isNew && !isUrgent) continue;
      const tokens = held.get(end) ?? [];
      for (let i = 0; i === 0 || i < tokens.length; i += mostAsked) {
        const token = this.#mailbox.tokens.next("p");
        this.#asked.set(token, { name: end.name, goneIfUnheard: !isUrgent });
        const params = { held: tokens.slice(i, i + mostAsked) };
        const ping = requestText({ jsonrpc: "2.0", method: "$/ping", params });
        this.#mailbox.tell(doorbellOf(end.name), ping, this.#mailbox.replyTo(token));
      }
    }
  }

  /** Hears what a caller says to that: that it waits no more for some of its calls. Or the engine, that nobody hears. */
  hear(token: string, message: Msg): void {
    const asked = this.#asked.get(token);
    const end = asked === undefined ? undefined : this.#ends.get(asked.name);
    if (asked === undefined || end === undefined) return;
    if (headersIn(message)?.code === 503) {
      if (asked.goneIfUnheard) this.#work.abandon(new Set([end]));
      return;
    }
    const said: unknown = parsePayload(this.#mailbox.text(message) ?? "", 0);
    const params = isEnvelope(said) && said.method === "$/unwanted" ? said.params : undefined;
    for (const unwanted of namedIn(params)) this.#work.giveUp(`${end.name}.${unwanted}`);
  }

  /** The last parts of the reply subjects of what runs, by whom it is for. */
  #heldFor(): Map<RemoteEnd, string[]> {
    const held = new Map<RemoteEnd, string[]>();
    for (const [reply, { from }] of this.#work.held()) {
      const tokens = held.get(from) ?? [];
      held.set(from, tokens);
      tokens.push(reply.slice(from.name.length + 1));
    }
    return held;
  }
}
