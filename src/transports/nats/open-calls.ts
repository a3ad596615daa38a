import { WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import type { Id } from "../../protocol/message.ts";
import { badReply } from "../../protocol/pair.ts";
import { type Envelope, isEnvelope, parsePayload } from "../../protocol/parse.ts";
import { requestText } from "../../protocol/serialize.ts";
import { doorbellOf } from "./address.ts";
import type { Msg, MsgHdrs } from "./client-library.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Subjects } from "./subjects.ts";

/** Where a payload goes. */
export interface Route {
  readonly subject: string;
  /** Where it goes when nobody listens there. */
  readonly otherwise?: string | undefined;
  /** Where the one who answers hears about the call, if that is known beforehand. */
  readonly remote?: string | undefined;
}

interface OpenCall {
  readonly payload: Payload;
  readonly text: string;
  readonly headers: MsgHdrs | undefined;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
  subject: string;
  otherwise: string | undefined;
  remote: string | undefined;
  /** How often it was asked after, without an answer. */
  asked: number;
  young: boolean;
  /** How often it was sent again; only what may run twice is. */
  repeats: number;
}

/** So many questions after a call may go unanswered. */
const mostUnanswered = 3;
/** So often a call whose worker is gone goes to another. */
const mostRepeats = 3;

const heldText = requestText({ jsonrpc: "2.0", method: "$/held" });
const helloText = requestText({ jsonrpc: "2.0", method: "$/hello" });

/** Calls that this end made and that await their reply, each with a reply subject of its own. */
export class OpenCalls {
  readonly #mailbox: Mailbox;
  readonly #subjects: Subjects | undefined;
  /** Where all other ends that may hold a call of ours listen. */
  readonly #everybody: string | undefined;
  readonly #open = new Map<string, OpenCall>();
  #last = 0;
  /** Whether the others answer when they are asked after a call; a service in another language does not. */
  #answering = false;
  #greeted = false;

  constructor(mailbox: Mailbox, subjects: Subjects | undefined) {
    this.#mailbox = mailbox;
    this.#subjects = subjects;
    this.#everybody = subjects?.workers;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Sends a payload and gives what answers it. */
  exchange(
    route: Route,
    text: string,
    payload: Payload,
    headers: MsgHdrs | undefined,
  ): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      try {
        if (!payload.expectsReply) {
          this.#mailbox.publish(route.subject, text, "", headers);
          resolve(undefined);
          return;
        }
        if (!this.#greeted) this.#greet();
        const { subject, otherwise, remote } = route;
        this.#send({
          payload,
          text,
          headers,
          resolve,
          reject,
          subject,
          otherwise,
          remote,
          asked: 0,
          young: true,
          repeats: 0,
        });
      } catch (error) {
        // In a turn of its own: one who calls again at once, and again, would not let NATS come back.
        setTimeout(reject, 0, error);
      }
    });
  }

  receive(token: string, message: Msg): void {
    const call = this.#open.get(token);
    if (message.data.length === 0 && message.headers?.code === 503) {
      if (call !== undefined) this.#nobodyThere(token, call);
      return;
    }
    const text = this.#mailbox.text(message);
    if (text === undefined) {
      this.#settle(token, call)?.reject(badReply("the reply is not UTF-8"));
    } else if (!text.includes('"method"') || !this.#receiveEarlier(token, call, text, message)) {
      this.#settle(token, call)?.resolve(text);
    }
  }

  /** An answer to the question who is there. */
  greeted({ params }: Envelope): void {
    const { reply } = (isEnvelope(params) ? params : {}) as { reply?: unknown };
    // Between accounts the engine writes other names, by which no call could be found.
    this.#answering = reply === doorbellOf(this.#mailbox.address);
  }

  /** Asks after the calls that have been open for long. */
  ask(): void {
    if (!this.#answering && this.#open.size > 0) this.#greet();
    for (const [token, call] of [...this.#open]) {
      const where = call.remote ?? (this.#answering ? this.#everybody : undefined);
      if (call.young) call.young = false;
      else if (call.asked >= mostUnanswered) this.#lose(token, call);
      else if (where !== undefined) {
        call.asked++;
        this.#mailbox.tell(where, heldText, this.#replyTo(token));
      }
    }
  }

  fail(error: WireError): void {
    for (const [token, call] of this.#open) this.#settle(token, call)?.reject(error);
  }

  forbidden(subject: string): void {
    for (const [token, call] of this.#open) {
      if (call.subject !== subject) continue;
      const sentence = `this user may not publish to ${subject}`;
      this.#settle(token, call)?.reject(new WireError("CONNECTION_FAILED", sentence));
    }
  }

  /** The connection broke: what may run twice waits for the next one, the rest fails. */
  suspend(error: WireError): void {
    for (const [token, call] of this.#open) {
      if (!call.payload.idempotent) this.#settle(token, call)?.reject(error);
    }
  }

  /** Sends what has waited for a connection. */
  resume(): void {
    for (const [token, call] of [...this.#open]) this.#lose(token, call);
  }

  /** What comes before the reply. False when it is the reply after all. */
  #receiveEarlier(token: string, call: OpenCall | undefined, text: string, source: Msg): boolean {
    const message = parsePayload(text, 0);
    if (!isEnvelope(message) || typeof message.method !== "string") return false;
    if (call !== undefined) {
      call.asked = 0;
      if (source.reply) call.remote = source.reply;
      if (message.method === "$/held") return true;
      if (message.method === "$/gone") {
        this.#lose(token, call);
        return true;
      }
      const give = (id: unknown, count: number): void => {
        if (call.remote === undefined) return;
        const params = { id, count };
        const credit = requestText({ jsonrpc: "2.0", method: "$/credit", params });
        this.#mailbox.tell(call.remote, credit, this.#replyTo(token));
      };
      if (call.payload.take(message, text, give) !== false) return true;
    }
    // The one who answers calls back, or has something to say.
    this.#mailbox.callers.answer(message, text, source);
    return true;
  }

  #nobodyThere(token: string, call: OpenCall): void {
    if (call.remote !== undefined || call.asked > 0) {
      this.#lose(token, call);
      return;
    }
    const { otherwise } = call;
    try {
      if (otherwise !== undefined) {
        call.otherwise = undefined;
        call.subject = otherwise;
        this.#mailbox.publish(otherwise, call.text, this.#replyTo(token), call.headers);
        return;
      }
      const code = call.repeats === 0 ? "CONNECTION_FAILED" : "CONNECTION_LOST";
      this.#settle(token, call)?.reject(new WireError(code, this.#nobodyTakes(call)));
    } catch (error) {
      this.#settle(token, call)?.reject(error);
    }
  }

  #nobodyTakes({ payload: { requests } }: OpenCall): string {
    if (this.#subjects === undefined) return "the other end is not there any more";
    const [only, second] = requests;
    const what =
      only === undefined || second !== undefined ? `a batch of ${requests.length}` : only.method;
    return `no worker listens under the subject ${this.#subjects.base}, so nobody can take ${what}`;
  }

  /** Whoever had the call is gone. Another gets it if it may run twice. */
  #lose(token: string, call: OpenCall): void {
    this.#settle(token, call);
    if (!call.payload.idempotent || call.repeats >= mostRepeats) {
      const sentence = "the worker that had the call is gone";
      call.reject(new WireError("CONNECTION_LOST", sentence));
      return;
    }
    call.payload.gap();
    try {
      this.#send({ ...call, remote: undefined, asked: 0, young: true, repeats: call.repeats + 1 });
    } catch (error) {
      call.reject(error);
    }
  }

  #send(call: OpenCall): void {
    const token = `o${(++this.#last).toString(36)}`;
    this.#mailbox.publish(call.subject, call.text, this.#replyTo(token), call.headers);
    this.#open.set(token, call);
    call.payload.onCancel = () => this.#cancel(token);
    this.#mailbox.watch();
  }

  #cancel(token: string): void {
    const call = this.#open.get(token);
    if (call === undefined) return;
    this.#open.delete(token);
    const where = call.remote ?? this.#everybody;
    if (where === undefined) return;
    for (const { id } of call.payload.requests) {
      if (id === undefined) continue;
      this.#mailbox.tell(where, cancelText(id), this.#replyTo(token));
    }
  }

  #settle(token: string, call: OpenCall | undefined): OpenCall | undefined {
    if (call === undefined) return undefined;
    this.#open.delete(token);
    call.payload.onCancel = undefined;
    return call;
  }

  #greet(): void {
    this.#greeted = true;
    if (this.#everybody === undefined) return;
    this.#mailbox.tell(this.#everybody, helloText, doorbellOf(this.#mailbox.address));
  }

  #replyTo(token: string): string {
    return `${this.#mailbox.address}.${token}`;
  }
}

function cancelText(id: Id): string {
  return requestText({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } });
}
