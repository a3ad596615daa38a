import { BriefMap } from "../../protocol/brief-map.ts";
import { cutShort, ErrorCode, methodNotFound } from "../../protocol/errors.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import type { ErrorObject, Id } from "../../protocol/message.ts";
import { Origin } from "../../protocol/origin.ts";
import {
  abandonCalls,
  callsOf,
  cancelCall,
  cancelQueued,
  endCalls,
} from "../../protocol/origin-calls.ts";
import { type Envelope, isEnvelope, parsePayload } from "../../protocol/parse.ts";
import { errorText, idText, requestText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import { doorbellOf, senderOf } from "./address.ts";
import { Caller } from "./caller.ts";
import type { Msg } from "./client-library.ts";
import { hasReadableHeaders, headersIn, transportOf, unreadableHeaders } from "./headers.ts";
import { countBytes, countHeaders } from "./item-numbers.ts";
import type { Mailbox } from "./mailbox.ts";
import { Questions } from "./questions.ts";
import { type RemoteEnd, RemoteEnds } from "./remote-end.ts";
import { isFromAnotherAccount } from "./reply-subjects.ts";
import { calledElsewhere } from "./subjects.ts";

const goneText = requestText({ jsonrpc: "2.0", method: "$/gone" });
const connectionLost: ErrorObject = {
  code: ErrorCode.RequestCancelled,
  message: "Connection lost",
};

/** Whether a payload calls or tells something, alone or with others; what does neither is a reply. */
export function holdsCalls(payload: unknown): boolean {
  return entriesOf(payload).some((entry) => isEnvelope(entry) && typeof entry.method === "string");
}

function entriesOf(payload: unknown): readonly unknown[] {
  return Array.isArray(payload) ? payload : [payload];
}

/** Calls of others that run here, and those who made them. */
export class Callers {
  readonly #mailbox: Mailbox;
  readonly #service: Service | undefined;
  /** By the subject that the reply goes to; some callers use one for several calls. */
  readonly #byReply = new BriefMap<string, Caller>();
  /** By the last part of the address at which a caller reaches its call. */
  readonly #byToken = new BriefMap<string, Caller>();
  readonly #ends: RemoteEnds;
  readonly questions: Questions;
  #running = 0;

  constructor(mailbox: Mailbox, service: Service | undefined) {
    this.#mailbox = mailbox;
    this.#service = service;
    this.#ends = new RemoteEnds(mailbox);
    this.questions = new Questions(mailbox, this.#ends, this);
  }

  /** How many payloads are being worked on. */
  get inFlight(): number {
    return this.#running;
  }

  /** How many other ends are worked for, or otherwise of interest. */
  get watched(): number {
    return this.#ends.size;
  }

  /** Most calls that this end takes together. */
  get maxBatch(): number {
    return this.#service?.limits.maxBatch ?? 0;
  }

  /** Answers a payload, now or later; `done` hears when, and of the error if a single call failed. */
  answer(
    payload: unknown,
    text: string,
    source: Msg,
    reply: string,
    done?: (error?: ErrorObject) => void,
  ): void {
    if (this.#service === undefined) {
      this.#refuse(payload, reply, methodNotFound);
      return;
    }
    if (!hasReadableHeaders(source)) {
      this.#refuse(payload, reply, unreadableHeaders);
      done?.(unreadableHeaders);
      return;
    }
    const end = this.#ends.of(reply);
    const caller = new Caller(this.#mailbox, reply, end);
    const origin = new Origin(transportOf(source.headers), caller, this.#service.limits, end);
    // Kept from the start: to find them later, all that runs would be looked through for each payload that is given up.
    origin.calls = new LinkedList();
    caller.origin = origin;
    end.hold();
    const answer = this.#service.answerer.answerPayload(payload, text, origin);
    if (!(answer instanceof Promise)) {
      this.#leave(caller);
      if (answer !== undefined) this.reply(reply, answer);
      done?.(origin.lastError);
      return;
    }
    this.#enter(caller);
    void answer.then((written) => {
      this.#running--;
      this.#leave(caller);
      if (written !== undefined) this.reply(reply, written, caller.items);
      done?.(origin.lastError);
    });
  }

  /** The same for what came to the mailbox, beside the subjects of methods; a worker takes no calls there. */
  answerBeside(payload: unknown, text: string, source: Msg, reply: string): void {
    if (this.#mailbox.isPublic) this.#refuse(payload, reply, calledElsewhere);
    else this.answer(payload, text, source, reply);
  }

  /** Sends a reply, after so many items; one that is longer than the engine takes becomes an error that fits. */
  reply(subject: string, text: string, items = 0): void {
    if (subject === "") return;
    const said = this.#mailbox.fits(text, items === 0 ? 0 : countBytes)
      ? text
      : this.#tooLarge(text);
    // Its caller may be on a node of the engine that this end has not lost.
    this.#mailbox.tellNowOrThen(subject, said, countHeaders(items));
  }

  /** The address at which a caller steers its call. */
  addressOf(caller: Caller): string {
    if (caller.token === "") {
      caller.token = this.#mailbox.tokens.next("c");
      this.#byToken.set(caller.token, caller);
    }
    return `${this.#mailbox.address}.${caller.token}`;
  }

  /** Something about the call at this address. */
  control(token: string, message: Msg, reply: string): void {
    const caller = this.#byToken.get(token);
    if (headersIn(message)?.code === 503) {
      this.#unheard(caller);
      return;
    }
    const text = this.#mailbox.text(message);
    const parsed: unknown = text === undefined ? undefined : parsePayload(text, 0);
    if (!isEnvelope(parsed)) return;
    if (caller === undefined) {
      if (parsed.method === "$/held") this.#mailbox.tell(reply, goneText);
      return;
    }
    caller.silentRounds = 0;
    if (parsed.method !== "$/held") {
      this.#steer(parsed, caller);
      return;
    }
    this.#mend(parsed, caller);
    // The answer is like the question: sent to somebody else, such as another call, it could go back and forth for ever.
    if (reply === caller.reply || isFromAnotherAccount(reply))
      this.#mailbox.tell(reply, caller.heldText, this.addressOf(caller));
  }

  /** The same from somebody who does not know where the call runs. False when it is nothing of the kind. */
  steer(message: Envelope, reply: string): boolean {
    const { method, id } = message;
    if (id !== undefined || typeof method !== "string" || !method.startsWith("$/")) return false;
    if (method === "$/hello") {
      const hello = { jsonrpc: "2.0", method, params: { reply } } as const;
      this.#mailbox.tell(reply, requestText(hello));
      return true;
    }
    const first = this.#byReply.get(reply);
    if (method === "$/held") {
      if (first === undefined) return true;
      this.#mend(message, first);
      this.#mailbox.tell(reply, first.heldText, this.addressOf(first));
      return true;
    }
    for (let caller = first; caller !== undefined; caller = caller.next)
      this.#steer(message, caller);
    return method === "$/cancelRequest" || method === "$/credit";
  }

  /** All that runs, by its reply subject. */
  held(): readonly (readonly [string, Caller])[] {
    return this.#byReply.list();
  }

  /** The engine says that what was sent to a caller was for nobody. Who can be asked is, and may only be on the way to another node. */
  #unheard(caller: Caller | undefined): void {
    if (caller === undefined || caller.from.isProbeable) return;
    if (caller.items > 0 || caller.origin.openStreams > 0) this.giveUp(caller.reply);
  }

  /** This user may not publish there. Says whether that was only a question, which is asked in another way from now on. */
  forbidden(subject: string): boolean {
    if (this.#byReply.get(subject) !== undefined) this.giveUp(subject);
    const end = this.#ends.get(senderOf(subject));
    if (end === undefined || subject !== doorbellOf(end.name)) return false;
    end.lose();
    return true;
  }

  /** Nobody waits for the reply at this subject any more. */
  giveUp(reply: string): void {
    for (let caller = this.#byReply.get(reply); caller !== undefined; caller = caller.next) {
      caller.cancelled = true;
      if (this.#service === undefined) continue;
      abandonCalls(this.#service.running, caller.origin, connectionLost);
    }
  }

  /** Ends what still runs for others, and tells them so. */
  cutShort(): void {
    if (this.#service === undefined) return;
    const { running } = this.#service;
    for (const { origin } of this.#waiting()) endCalls(running, origin, cutShort);
  }

  /** Ends everything that runs for others, or for these. */
  abandon(ends: ReadonlySet<RemoteEnd> = new Set(this.#ends.all())): void {
    for (const caller of this.#waiting()) {
      if (this.#service === undefined || !ends.has(caller.from)) continue;
      abandonCalls(this.#service.running, caller.origin, connectionLost);
    }
    for (const end of ends) end.gone();
  }

  /** All who await a reply. */
  *#waiting(): Iterable<Caller> {
    for (const [, first] of this.#byReply.list()) {
      for (let caller: Caller | undefined = first; caller !== undefined; caller = caller.next) {
        yield caller;
      }
    }
  }

  #steer(message: Envelope, caller: Caller): void {
    const { id, count } = (isEnvelope(message.params) ? message.params : {}) as {
      id?: Id;
      count?: unknown;
    };
    if (id === undefined || this.#service === undefined) return;
    if (message.method === "$/cancelRequest") {
      caller.cancelled = true;
      cancelCall(callsOf(this.#service.running, caller.origin), id);
      cancelQueued(caller.origin, id);
    } else if (message.method === "$/credit" && typeof count === "number" && count > 0) {
      caller.given += count;
      caller.origin.streams?.get(id)?.(count);
    }
  }

  /** Makes up for credit that was lost on its way. */
  #mend(message: Envelope, caller: Caller): void {
    const { given } = (isEnvelope(message.params) ? message.params : {}) as { given?: unknown };
    if (typeof given !== "number" || given <= caller.given) return;
    const missing = given - caller.given;
    caller.given = given;
    for (const [, give] of caller.origin.streams?.list() ?? []) give(missing);
  }

  #enter(caller: Caller): void {
    this.#running++;
    if (caller.reply === "") return;
    caller.next = this.#byReply.get(caller.reply);
    this.#byReply.set(caller.reply, caller);
    this.#mailbox.watch();
  }

  #leave(caller: Caller): void {
    caller.leave();
    caller.from.release();
    if (caller.token !== "") this.#byToken.take(caller.token);
    const first = this.#byReply.get(caller.reply);
    if (first === caller) {
      if (caller.next === undefined) this.#byReply.take(caller.reply);
      else this.#byReply.set(caller.reply, caller.next);
      return;
    }
    for (let before = first; before !== undefined; before = before.next) {
      if (before.next === caller) before.next = caller.next;
    }
  }

  #refuse(payload: unknown, reply: string, error: ErrorObject): void {
    const refusals = entriesOf(payload)
      .filter((entry) => !isEnvelope(entry) || entry.id !== undefined)
      .map((entry) => errorText("2.0", isEnvelope(entry) ? idText(entry.id) : "null", error));
    if (refusals.length === 0) return;
    const text = refusals.join(",");
    this.reply(reply, Array.isArray(payload) ? `[${text}]` : text);
  }

  #tooLarge(text: string): string {
    const { id } = JSON.parse(text) as { id?: unknown };
    return errorText("2.0", id === undefined ? "null" : idText(id), {
      code: ErrorCode.ReplyTooLarge,
      message: "Reply too large",
      data: `NATS takes at most ${this.#mailbox.maxBytes} bytes`,
    });
  }
}
