import { BriefMap } from "../../protocol/brief-map.ts";
import { type Envelope, isEnvelope } from "../../protocol/envelope.ts";
import {
  connectionLost,
  cutShort,
  ErrorCode,
  methodNotFound,
  serverBusy,
} from "../../protocol/errors.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import { heapBytes } from "../../protocol/memory-bounds.ts";
import type { ErrorObject, Id } from "../../protocol/message.ts";
import { Origin } from "../../protocol/origin.ts";
import {
  abandonCalls,
  callsOf,
  cancelCall,
  endCalls,
  giveUpQueued,
} from "../../protocol/origin-calls.ts";
import { errorText, idText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import { itemUnreadable, receiveUpload } from "../../protocol/upload.ts";
import { Caller, KnownCallers } from "./callers.ts";
import type { Msg } from "./client-library.ts";
import {
  hasReadableHeaders,
  isUndelivered,
  itemsHeaderBytes,
  itemsHeaders,
  transportOf,
  unreadableHeaders,
} from "./headers.ts";
import { IncomingCall } from "./incoming-call.ts";
import type { Mailbox } from "./mailbox.ts";
import { controlSubjectOf, isFromAnotherAccount, senderOf, wrongSubject } from "./subjects.ts";

/** Whether a payload contains a call or a notification; otherwise it is a reply. */
export function hasCalls(payload: unknown): boolean {
  return entriesOf(payload).some((entry) => isEnvelope(entry) && typeof entry.method === "string");
}

function entriesOf(payload: unknown): readonly unknown[] {
  return Array.isArray(payload) ? payload : [payload];
}

const itemsLost: ErrorObject = {
  ...connectionLost,
  data: "items of the upload were lost on their way",
};

/** The calls of peers that run here. */
export class IncomingCalls {
  readonly callers = new BriefMap<string, Caller>();
  readonly known: KnownCallers = new KnownCallers();
  readonly #mailbox: Mailbox;
  readonly #service: Service | undefined;
  /** By reply subject; some callers use one for several payloads. */
  readonly #byReply = new BriefMap<string, IncomingCall>();
  /** By the last token of the subject for messages about a call. */
  readonly #byToken = new BriefMap<string, IncomingCall>();
  #running = 0;

  constructor(mailbox: Mailbox, service: Service | undefined) {
    this.#mailbox = mailbox;
    this.#service = service;
  }

  get inFlight(): number {
    return this.#running;
  }

  get maxBatch(): number {
    return this.#service?.limits.maxBatch ?? 0;
  }

  /** Answers a payload, now or later; then calls `done`, with the error if a single call failed. */
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
    // All payloads without a reply subject count as one caller.
    const name = senderOf(reply);
    const caller = this.callers.get(name) ?? new Caller(name, this.#mailbox, this.callers);
    const call = new IncomingCall(this.#mailbox, reply, caller);
    const origin = new Origin(transportOf(source.headers), call, this.#service.limits, caller);
    // Kept from the start: otherwise each cancelled payload would search all running calls.
    origin.calls = new LinkedList();
    call.origin = origin;
    caller.hold();
    const answer = this.#service.answerer.answerPayload(payload, text, origin);
    if (!(answer instanceof Promise)) {
      this.#remove(call);
      if (answer !== undefined) this.reply(reply, answer);
      if (origin.lastError === serverBusy) this.#mailbox.liveness.challenge(caller);
      done?.(origin.lastError);
      return;
    }
    this.#add(call);
    void answer.then((written) => {
      this.#running--;
      this.#remove(call);
      if (written !== undefined) this.reply(reply, written, call.items);
      done?.(origin.lastError);
    });
  }

  /** Answers a payload that was sent to the mailbox itself. The address of a worker is public, so it refuses calls there. */
  answerToMailbox(payload: unknown, text: string, source: Msg, reply: string): void {
    if (this.#mailbox.isPublic) this.#refuse(payload, reply, wrongSubject);
    else this.answer(payload, text, source, reply);
  }

  /** Sends a reply, after this many items; one that is too long becomes an error. */
  reply(subject: string, text: string, items = 0): void {
    if (subject === "") return;
    const headerBytes = items === 0 ? 0 : itemsHeaderBytes;
    const sent = this.#mailbox.fits(text, headerBytes) ? text : this.#tooLarge(text);
    // The caller may still be connected, to another node.
    this.#mailbox.sendOrKeep(subject, sent, itemsHeaders(items));
  }

  /** The subject for messages about a call. */
  subjectOf(call: IncomingCall): string {
    if (call.token === "") {
      call.token = this.#mailbox.nextToken("c");
      this.#byToken.set(call.token, call);
    }
    return `${this.#mailbox.address}.${call.token}`;
  }

  receive(token: string, message: Msg, reply: string): void {
    const { liveness } = this.#mailbox;
    const call = this.#byToken.get(token);
    if (isUndelivered(message)) {
      // A probeable caller is probed, and may only be reconnecting.
      if (call === undefined || call.caller.isProbeable) return;
      if (call.items > 0 || call.origin.openStreams > 0) this.abandon(call.reply);
      return;
    }
    const parsed = this.#mailbox.envelope(message);
    if (parsed === undefined) return;
    if (call === undefined) {
      if (parsed.method === "$/held") liveness.sendGone(reply);
      return;
    }
    call.silentRounds = 0;
    // The token was sent to the caller only.
    call.caller.known();
    if (parsed.method !== "$/held") {
      this.#control(parsed, call, message.data.length);
      return;
    }
    this.#restoreCredit(parsed, call);
    this.#checkUpload(parsed, call);
    // The answer looks like a probe: sent to another call, it could go back and forth forever.
    if (reply === call.reply || isFromAnotherAccount(reply)) liveness.sendHeld(reply, call);
  }

  /** A message from a caller that does not know which worker has its call. False if it is a call. */
  control(message: Envelope, reply: string): boolean {
    const { method, id } = message;
    if (id !== undefined || typeof method !== "string" || !method.startsWith("$/")) return false;
    if (method === "$/hello") {
      this.#mailbox.liveness.sendHello(reply);
      return true;
    }
    const first = this.#byReply.get(reply);
    if (method === "$/held") {
      if (first === undefined) return true;
      this.#restoreCredit(message, first);
      this.#mailbox.liveness.sendHeld(reply, first);
      return true;
    }
    for (let call = first; call !== undefined; call = call.next) this.#control(message, call);
    return method === "$/cancelRequest" || method === "$/credit";
  }

  /** NATS refused a publish. Returns whether that was only a probe. */
  forbidden(subject: string): boolean {
    this.abandon(subject);
    const caller = this.callers.get(senderOf(subject));
    if (caller === undefined || subject !== controlSubjectOf(caller.name)) return false;
    caller.stopProbing();
    return true;
  }

  /** The reply at this subject is no longer wanted. */
  abandon(reply: string): void {
    for (let call = this.#byReply.get(reply); call !== undefined; call = call.next) {
      call.isCancelled = true;
      if (this.#service === undefined) continue;
      abandonCalls(this.#service.running, call.origin, connectionLost);
    }
  }

  /** Ends all calls, and reports that to their callers. */
  cutShort(): void {
    for (const { origin } of this.list()) this.end(origin, cutShort);
  }

  end(origin: Origin, error: ErrorObject): void {
    if (this.#service !== undefined) endCalls(this.#service.running, origin, error);
  }

  /** These callers are gone. */
  abandonCallers(list = this.callers.list().map(([, caller]) => caller)): void {
    const gone = new Set(list);
    for (const call of this.list()) {
      if (this.#service === undefined || !gone.has(call.caller)) continue;
      abandonCalls(this.#service.running, call.origin, connectionLost);
    }
    for (const caller of gone) caller.gone();
  }

  /** All payloads that await their answer. */
  *list(): Iterable<IncomingCall> {
    for (const [, first] of this.#byReply.list()) {
      for (let call: IncomingCall | undefined = first; call !== undefined; call = call.next) {
        yield call;
      }
    }
  }

  #control(message: Envelope, call: IncomingCall, length = 0): void {
    const { id, count } = (isEnvelope(message.params) ? message.params : {}) as {
      id?: Id;
      count?: unknown;
    };
    if (id === undefined || this.#service === undefined) return;
    if (message.method === "$/cancelRequest") {
      call.isCancelled = true;
      cancelCall(callsOf(this.#service.running, call.origin), id);
      giveUpQueued(call.origin, id);
    } else if (message.method === "$/upload") this.#takeUpload(message, call, length);
    else if (message.method === "$/credit" && typeof count === "number" && count > 0) {
      call.credit += count;
      call.origin.streams?.get(id)?.(count);
    }
  }

  /** A probe contains all credit that was given, since messages with credit can be lost. */
  #restoreCredit({ params }: Envelope, call: IncomingCall): void {
    const { given } = (isEnvelope(params) ? params : {}) as { given?: unknown };
    if (typeof given !== "number" || given <= call.credit) return;
    const lost = given - call.credit;
    call.credit = given;
    for (const [, give] of call.origin.streams?.list() ?? []) give(lost);
  }

  /** An item of an upload, or its end; each has a number, since messages can be lost. */
  #takeUpload({ params }: Envelope, call: IncomingCall, length: number): void {
    if (this.#service === undefined) return;
    const { running, limits } = this.#service;
    const { seq } = (isEnvelope(params) ? params : {}) as { seq?: unknown };
    if (seq !== ++call.uploaded) this.end(call.origin, itemsLost);
    else if (length > limits.maxMessageBytes) this.end(call.origin, itemUnreadable);
    else receiveUpload(running, call.origin, params, length, heapBytes(JSON.stringify(params)));
  }

  /** A probe contains how much the caller has uploaded. */
  #checkUpload({ params }: Envelope, call: IncomingCall): void {
    const { uploaded } = (isEnvelope(params) ? params : {}) as { uploaded?: unknown };
    if (typeof uploaded === "number" && uploaded > call.uploaded) this.end(call.origin, itemsLost);
  }

  #add(call: IncomingCall): void {
    this.#running++;
    if (call.reply === "") return;
    call.next = this.#byReply.get(call.reply);
    this.#byReply.set(call.reply, call);
    this.#mailbox.liveness.watch();
  }

  #remove(call: IncomingCall): void {
    call.answered();
    call.caller.release();
    if (call.token !== "") this.#byToken.take(call.token);
    const first = this.#byReply.get(call.reply);
    if (first === call) {
      if (call.next === undefined) this.#byReply.take(call.reply);
      else this.#byReply.set(call.reply, call.next);
      return;
    }
    for (let before = first; before !== undefined; before = before.next) {
      if (before.next === call) before.next = call.next;
    }
  }

  #refuse(payload: unknown, reply: string, error: ErrorObject): void {
    const errors = entriesOf(payload)
      .filter((entry) => !isEnvelope(entry) || entry.id !== undefined)
      .map((entry) => errorText("2.0", isEnvelope(entry) ? idText(entry.id) : "null", error));
    if (errors.length === 0) return;
    const text = errors.join(",");
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
