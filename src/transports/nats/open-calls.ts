import { BriefMap } from "../../protocol/brief-map.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import type { Id, Request } from "../../protocol/message.ts";
import { badReply } from "../../protocol/pair.ts";
import { type Envelope, isEnvelope, parsePayload } from "../../protocol/parse.ts";
import { holdsCalls } from "./callers.ts";
import type { Msg, MsgHdrs } from "./client-library.ts";
import { Greeting } from "./greeting.ts";
import { headersIn } from "./headers.ts";
import { type Asking, Hurry } from "./hurry.ts";
import type { Mailbox } from "./mailbox.ts";
import { OpenCall, type Route, type Sending } from "./open-call.ts";
import type { Subjects } from "./subjects.ts";
import { Telling } from "./telling.ts";

/** So many questions after a call may go unanswered. */
const mostUnanswered = 3;
/** So often a call whose worker is gone goes to another. */
const mostRepeats = 3;
/** For so long, and so often, workers are waited for after this end was without the engine. */
const returningMs = 500;
const mostReturns = 20;

const gone = "the worker that had the call is gone";

/** Calls that this end made and that await their reply, each with a reply subject of its own. */
export class OpenCalls implements Asking {
  readonly #mailbox: Mailbox;
  readonly #subjects: Subjects | undefined;
  /** Where all other ends that may hold a call of ours listen. */
  readonly #everybody: string | undefined;
  readonly #open = new BriefMap<string, OpenCall>();
  /** What failed because the connection broke, until those who have it can be told. */
  readonly #abandoned = new Map<string, OpenCall>();
  readonly greeting: Greeting;
  readonly #telling: Telling;
  readonly #hurry: Hurry | undefined;

  constructor(mailbox: Mailbox, subjects: Subjects | undefined, aliveMs: number) {
    this.#mailbox = mailbox;
    this.#subjects = subjects;
    this.#everybody = subjects?.workers;
    this.greeting = new Greeting(mailbox, this.#everybody);
    this.#telling = new Telling(mailbox, this.#everybody);
    const asks = aliveMs !== Number.POSITIVE_INFINITY;
    this.#hurry = asks ? new Hurry(mailbox, this, aliveMs, mostUnanswered) : undefined;
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
        this.greeting.sayOnce();
        const sending = { payload, text, headers, route, resolve, reject };
        this.#send(new OpenCall(sending, route.remote));
      } catch (error) {
        // In a turn of its own: one who calls again at once, and again, would not let NATS come back.
        setTimeout(reject, 0, error);
      }
    });
  }

  receive(token: string, message: Msg, reply: string): void {
    const call = this.#open.get(token);
    if (message.data.length === 0 && headersIn(message)?.code === 503) {
      if (call !== undefined) this.#nobodyThere(token, call);
      return;
    }
    const text = this.#mailbox.text(message);
    if (text === undefined) {
      this.#settle(token, call)?.reject(badReply("the reply is not UTF-8"));
    } else if (
      !text.includes('"method"') ||
      !this.#receiveEarlier(token, call, text, message, reply)
    ) {
      if (call?.hasAllBefore(message) === false) this.#miss(token, call);
      else this.#settle(token, call)?.resolve(text);
    }
  }

  /** Asks after the calls that have been open for long. */
  ask(): void {
    if (this.#open.size > 0) this.greeting.sayUnlessAnswered();
    for (const [token, call] of this.#open.list()) {
      if (call.young) call.young = false;
      // The others are asked after more often for now.
      else if (!call.endangered) this.askAfter(token, call);
    }
  }

  /** A node of the engine is gone. */
  nodeGone(): void {
    this.#hurry?.begin();
  }

  open(): readonly (readonly [string, OpenCall])[] {
    return this.#open.list();
  }

  askAfter(token: string, call: OpenCall): void {
    const where = call.remote ?? (this.greeting.answered ? this.#everybody : undefined);
    if (call.asked >= mostUnanswered)
      this.#lose(token, call, gone, call.endangered ? mostReturns : 0);
    else if (where !== undefined) {
      call.asked++;
      this.#telling.ask(where, token, call);
    }
  }

  /** Another end asks which of its calls are still wanted. */
  disown(ping: Envelope, reply: string): void {
    this.#telling.disown(ping, reply, (token) => this.#open.get(token) !== undefined);
  }

  /** One call of a batch is given up, while others of it are still wanted. */
  leave(requests: readonly Request[], id: Id | undefined): void {
    for (const [token, call] of this.#open.list()) {
      if (call.sending.payload.requests === requests) this.#telling.cancel(token, call, id);
    }
  }

  fail(error: WireError): void {
    this.#abandoned.clear();
    for (const [token, call] of this.#open.list()) this.#settle(token, call)?.reject(error);
  }

  /** Whether a call or a stream of ours fails for it. */
  forbidden(subject: string): boolean {
    let fails = false;
    for (const [token, call] of this.#open.list()) {
      const isUnsent = call.subject === subject;
      // Without credit, a stream would stand still before long.
      if (!isUnsent && !(call.given > 0 && call.remote === subject)) continue;
      const code = isUnsent ? "CONNECTION_FAILED" : "CONNECTION_LOST";
      const sentence = `this user may not publish to ${subject}`;
      this.#settle(token, call)?.reject(new WireError(code, sentence));
      fails = true;
    }
    return fails;
  }

  /** The connection broke: what may run twice waits for the next one, the rest fails. */
  suspend(error: WireError): void {
    for (const [token, call] of this.#open.list()) {
      if (call.sending.payload.idempotent) continue;
      this.#settle(token, call)?.reject(error);
      this.#abandoned.set(token, call);
    }
  }

  /** Sends what has waited for a connection, and tells those who still work on what came before it. */
  resume(): void {
    const lost = this.#open.list();
    for (const [token, call] of [...this.#abandoned, ...lost]) this.#telling.cancelAll(token, call);
    this.#abandoned.clear();
    for (const [token, call] of lost) this.#lose(token, call, gone, mostReturns);
  }

  #tryLater(token: string, call: OpenCall): void {
    call.patience--;
    this.#mailbox.later(returningMs, () => {
      if (this.#open.get(token) !== call) return;
      try {
        this.#publish(call.anew(), token, call);
      } catch {
        // Without the engine again; what comes then is for this call too.
      }
    });
  }

  /** What comes before the reply. False when it is the reply after all. */
  #receiveEarlier(
    token: string,
    call: OpenCall | undefined,
    text: string,
    source: Msg,
    reply: string,
  ): boolean {
    const { callers } = this.#mailbox;
    const message = parsePayload(text, callers.maxBatch);
    if (!holdsCalls(message)) return false;
    if (call !== undefined) call.asked = 0;
    if (call !== undefined && isEnvelope(message) && message.id === undefined) {
      // A call back has an address too, but one for its own reply.
      if (reply !== "") call.remote = reply;
      if (this.#takeNotice(token, call, message, text)) return true;
    }
    // The one who answers calls back, or has something to say.
    callers.answerBeside(message, text, source, reply);
    return true;
  }

  /** Something about a call that is open. False when it is for the service. */
  #takeNotice(token: string, call: OpenCall, message: Envelope, text: string): boolean {
    if (message.method === "$/held") {
      this.#hurry?.held(call);
      if (!call.hasAllOf(message)) this.#miss(token, call);
      return true;
    }
    if (message.method === "$/gone") {
      this.#lose(token, call);
      return true;
    }
    if (message.method === "$/stream" && !call.takes(message)) {
      this.#miss(token, call);
      return true;
    }
    const give = (id: unknown, count: number): void => {
      if (call.remote === undefined) return;
      call.given += count;
      this.#telling.credit(call.remote, token, id, count);
    };
    return call.sending.payload.take(message, text, give) !== false;
  }

  #nobodyThere(token: string, call: OpenCall): void {
    if (call.remote !== undefined || call.asked > 0) {
      // Its worker may be on its way to another node.
      if (!call.endangered) this.#lose(token, call);
      return;
    }
    const next = call.next();
    try {
      if (next !== undefined) {
        this.#publish(next, token, call);
        return;
      }
      this.greeting.unheard();
      if (call.patience > 0) {
        this.#tryLater(token, call);
        return;
      }
      const code = call.repeats === 0 ? "CONNECTION_FAILED" : "CONNECTION_LOST";
      this.#settle(token, call)?.reject(
        new WireError(code, call.nobodyTakes(this.#subjects?.base)),
      );
    } catch (error) {
      this.#settle(token, call)?.reject(error);
    }
  }

  /** Whoever had the call is gone. Another gets it if it may run twice. */
  #lose(token: string, call: OpenCall, sentence = gone, patience = 0): void {
    this.#settle(token, call);
    if (!call.sending.payload.idempotent || call.repeats >= mostRepeats) {
      call.sending.reject(new WireError("CONNECTION_LOST", sentence));
      return;
    }
    call.sending.payload.gap();
    // Its caller may have given it up for that.
    if (call.sending.payload.cancelled) return;
    try {
      this.#send(call.again(patience));
    } catch (error) {
      call.sending.reject(error);
    }
  }

  /** A stream lacks items. What else it sends is of no use. */
  #miss(token: string, call: OpenCall): void {
    this.#cancel(token);
    this.#lose(token, call, "items of the stream were lost on their way");
  }

  #send(call: OpenCall): void {
    const token = this.#mailbox.tokens.next("o");
    this.#publish(call.subject, token, call);
    this.#open.set(token, call);
    const cancel = (): void => this.#cancel(token);
    call.sending.payload.onCancel = cancel;
    this.#mailbox.watch();
  }

  #publish(subject: string, token: string, { sending: { text, headers } }: OpenCall): void {
    this.#mailbox.publish(subject, text, this.#mailbox.replyTo(token), headers);
  }

  #cancel(token: string): void {
    const call = this.#open.take(token);
    if (call !== undefined) this.#telling.cancelAll(token, call);
  }

  #settle(token: string, call: OpenCall | undefined): Sending | undefined {
    if (call === undefined) return undefined;
    this.#open.take(token);
    call.sending.payload.onCancel = undefined;
    return call.sending;
  }
}
