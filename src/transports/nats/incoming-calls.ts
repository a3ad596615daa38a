import { type CallAnswerer, NoMethods } from "../../connection/no-methods.ts";
import { BriefMap } from "../../protocol/brief-map.ts";
import { systemClock } from "../../protocol/clock.ts";
import { type Envelope, isEnvelope, membersOf } from "../../protocol/envelope.ts";
import { defaultLimits, type Limits } from "../../protocol/limits.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import { silentLog } from "../../protocol/log.ts";
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
import { errorText } from "../../protocol/reply-text.ts";
import { idText } from "../../protocol/serialize.ts";
import { ServerRunning } from "../../protocol/server-running.ts";
import type { Service } from "../../protocol/service.ts";
import { busyWith, connectionLost, cutShort, serverBusy } from "../../protocol/standard-errors.ts";
import { failUploads, itemUnreadable, receiveUpload } from "../../protocol/upload.ts";
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

/** Messages that a caller may send without knowing which worker has its call. */
const controls: readonly string[] = ["$/hello", "$/held", "$/cancelRequest", "$/credit"];

/** nats-server takes replies more slowly than they are made, or many long ones were made in the same turn. */
const replyNotKept = busyWith("too many replies wait for NATS");

const itemsLost: ErrorObject = {
  ...connectionLost,
  data: "items of the upload were lost on their way",
};

/** The calls of peers that run here. */
export class IncomingCalls {
  readonly callers = new BriefMap<string, Caller>();
  readonly known: KnownCallers = new KnownCallers();
  readonly #mailbox: Mailbox;
  readonly #service: Pick<Service, "limits" | "running"> & { readonly answerer: CallAnswerer };
  /** By the last token of the subject for messages about a call. */
  readonly #byToken = new BriefMap<string, IncomingCall>();
  /** Payloads that are answered later. */
  inFlight = 0;

  constructor(mailbox: Mailbox, service: Service | undefined) {
    this.#mailbox = mailbox;
    const log = service?.log ?? silentLog;
    const running = service?.running ?? new ServerRunning(systemClock);
    const limits = service?.limits ?? defaultLimits;
    const answerer = service?.answerer ?? new NoMethods({ running, limits, log });
    this.#service = { answerer, limits, running };
    running.buffers.opened(mailbox);
  }

  close(): void {
    this.#service.running.buffers.closed(this.#mailbox);
  }

  get limits(): Limits {
    return this.#service.limits;
  }

  /** Answers a payload, now or later; then calls `done`, with the error if a single call failed. */
  answer(
    payload: unknown,
    text: string,
    source: Msg,
    reply: string,
    done?: (error?: ErrorObject) => void,
  ): void {
    // A message to an open call of ours may have any length, but not if it is a call.
    if (text.length > this.limits.maxMessageBytes) {
      this.refuseUnreadable(source, reply);
      return;
    }
    if (!hasReadableHeaders(source)) {
      this.#refuse(payload, reply, unreadableHeaders);
      done?.(unreadableHeaders);
      return;
    }
    if (!this.#service.running.buffers.hasRoom) {
      this.#refuse(payload, reply, serverBusy);
      done?.(serverBusy);
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
    const answered = (written: string | undefined): void => {
      this.inFlight--;
      this.#remove(call);
      if (written !== undefined) this.reply(reply, written, call.items);
      done?.(origin.lastError);
    };
    const answer = this.#service.answerer.answerPayload(payload, text, origin, { answered });
    if (answer instanceof Promise) {
      this.#add(call);
      return;
    }
    this.#remove(call);
    if (answer !== undefined) this.reply(reply, answer);
    if (origin.lastError === serverBusy) this.#mailbox.liveness.challenge(caller);
    done?.(origin.lastError);
  }

  /** Answers a payload that was sent to the mailbox itself. The address of a worker is public, so it refuses calls there. */
  answerToMailbox(payload: unknown, text: string, source: Msg, reply: string): void {
    if (this.#mailbox.isPublic) this.#refuse(payload, reply, wrongSubject);
    else this.answer(payload, text, source, reply);
  }

  /** Answers a message that is too long or not UTF-8. */
  refuseUnreadable(message: Msg, reply: string): void {
    const { answerer, limits } = this.#service;
    const isTooLarge = message.data.length > limits.maxMessageBytes;
    const origin = new Origin();
    const text = isTooLarge ? answerer.tooLarge(origin) : answerer.unreadable(origin);
    if (text !== undefined) this.reply(reply, text);
  }

  /** Sends a reply, after this many items; one that is too long becomes an error. */
  reply(subject: string, text: string, items = 0): void {
    const headerBytes = items === 0 ? 0 : itemsHeaderBytes;
    const { buffers } = this.#service.running;
    const error = !this.#mailbox.fits(text, headerBytes)
      ? this.#mailbox.tooLarge("a reply")
      : buffers.hasRoomFor(text.length)
        ? undefined
        : replyNotKept;
    const sent = error === undefined ? text : errorText("2.0", idOf(JSON.parse(text)), error);
    buffers.moved(sent.length);
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
    const [parsed, text] = this.#mailbox.envelope(message);
    if (call === undefined) {
      if (parsed?.method === "$/held") liveness.sendGone(reply);
    } else if (parsed === undefined) {
      // It may have been an item.
      failUploads(this.#service.running, call.origin, itemUnreadable);
    } else {
      call.silentRounds = 0;
      // The token was sent to the caller only.
      call.caller.known();
      this.#control(parsed, call, text, reply);
    }
  }

  /** A message from a caller that does not know which worker has its call. False if it is a call. */
  control(message: Envelope, text: string, reply: string): boolean {
    const { method, id } = message;
    if (id !== undefined || typeof method !== "string" || !method.startsWith("$/")) return false;
    if (method === "$/hello") this.#mailbox.liveness.sendHello(reply);
    else {
      const calls = this.#callsAt(reply);
      // The reply subjects of a link differ; with a shared one, each probe would have as many answers as there are calls.
      if (method === "$/held") calls.length = Math.min(calls.length, 1);
      for (const call of calls) this.#control(message, call, text, reply);
    }
    return controls.includes(method);
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
    this.abandonCalls(this.#callsAt(reply));
  }

  /** Nobody waits for the replies to these any more. */
  abandonCalls(calls: readonly IncomingCall[]): void {
    for (const call of calls) {
      call.isCancelled = true;
      abandonCalls(this.#service.running, call.origin, connectionLost);
    }
  }

  /** The payloads with this reply subject; some callers use one for several. */
  #callsAt(reply: string): IncomingCall[] {
    const { calls } = this.callers.get(senderOf(reply)) ?? {};
    const found: IncomingCall[] = [];
    // Without a copy of the list: a caller with many calls may send many messages about them.
    for (let call = calls?.first; call !== undefined; call = call.next)
      if (call.reply === reply) found.push(call);
    return found;
  }

  /** Ends all calls, and reports that to their callers. */
  cutShort(): void {
    for (const { origin } of this.list()) this.end(origin, cutShort);
  }

  end(origin: Origin, error: ErrorObject): void {
    endCalls(this.#service.running, origin, error);
  }

  /** These callers are gone. */
  abandonCallers(list = this.callers.list().map(([, caller]) => caller)): void {
    for (const caller of list) {
      for (const { origin } of caller.calls.list())
        abandonCalls(this.#service.running, origin, connectionLost);
      caller.gone();
    }
  }

  /** All payloads that await their answer. */
  list(): IncomingCall[] {
    return this.callers.list().flatMap(([, { calls }]) => calls.list());
  }

  #control(message: Envelope, call: IncomingCall, text: string, reply: string): void {
    const { id, count } = membersOf(message.params) as { id?: Id; count?: unknown };
    if (message.method === "$/held") this.#receiveProbe(message, call, reply);
    else if (id === undefined) return;
    else if (message.method === "$/cancelRequest") {
      call.isCancelled = true;
      cancelCall(callsOf(this.#service.running, call.origin), id);
      giveUpQueued(call.origin, id);
    } else if (message.method === "$/upload") this.#takeUpload(message, call, text);
    else if (message.method === "$/credit" && typeof count === "number" && count > 0) {
      call.credit += count;
      call.origin.streams?.get(id)?.(count);
    }
  }

  /** A probe contains all credit that was given and how much was uploaded, since messages can be lost. */
  #receiveProbe({ params }: Envelope, call: IncomingCall, reply: string): void {
    const { given, uploaded } = membersOf(params);
    if (typeof given === "number" && given > call.credit) {
      const lost = given - call.credit;
      call.credit = given;
      for (const [, give] of call.origin.streams?.list() ?? []) give(lost);
    }
    if (typeof uploaded === "number" && uploaded > call.uploaded) this.end(call.origin, itemsLost);
    // The answer looks like a probe: sent to another call, it could go back and forth forever.
    else if (reply === call.reply || isFromAnotherAccount(reply))
      this.#mailbox.liveness.sendHeld(reply, call);
  }

  /** An item of an upload, or its end; each has a number, since messages can be lost. */
  #takeUpload({ params }: Envelope, call: IncomingCall, text: string): void {
    const { seq } = membersOf(params);
    if (seq !== ++call.uploaded) this.end(call.origin, itemsLost);
    else receiveUpload(this.#service.running, call.origin, params, text.length, heapBytes(text));
  }

  #add(call: IncomingCall): void {
    this.inFlight++;
    if (call.reply === "") return;
    call.caller.calls.add(call);
    this.#mailbox.liveness.watch();
  }

  #remove(call: IncomingCall): void {
    call.answered();
    call.caller.calls.remove(call);
    call.caller.release();
    if (call.token !== "") this.#byToken.take(call.token);
  }

  #refuse(payload: unknown, reply: string, error: ErrorObject): void {
    const errors = entriesOf(payload)
      .filter((entry) => !isEnvelope(entry) || entry.id !== undefined)
      .map((entry) => errorText("2.0", idOf(entry), error));
    if (errors.length === 0) return;
    const text = errors.join(",");
    this.reply(reply, Array.isArray(payload) ? `[${text}]` : text);
  }
}

/** Anything but a string or a number is not an id, and may nest too deep to be written. */
function idOf(entry: unknown): string {
  const id = isEnvelope(entry) ? entry.id : undefined;
  return typeof id === "string" || Number.isFinite(id) ? idText(id) : "null";
}
