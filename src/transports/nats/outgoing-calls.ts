import { UnreadItems } from "../../connection/pending.ts";
import { BriefMap } from "../../protocol/brief-map.ts";
import { type Envelope, isEnvelope } from "../../protocol/envelope.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Payload } from "../../protocol/exchange.ts";
import { itemWindow } from "../../protocol/item-queue.ts";
import type { Id, Params } from "../../protocol/message.ts";
import { badReply } from "../../protocol/pair.ts";
import { parsePayload } from "../../protocol/payload.ts";
import { requestText } from "../../protocol/serialize.ts";
import type { Msg, MsgHdrs } from "./client-library.ts";
import { isUndelivered } from "./headers.ts";
import { hasCalls } from "./incoming-calls.ts";
import type { Mailbox } from "./mailbox.ts";
import { OutgoingCall, type Route, type Sending } from "./outgoing-call.ts";
import type { Subjects } from "./subjects.ts";

/** Most workers to which a call is sent again after its own died. */
const mostRepeats = 3;
/** After an outage, workers are waited for this long and this often. */
const returnMs = 500;
const mostReturns = 20;

const workerGone = "the worker that had the call is gone";

/** The calls that a mailbox made and that await their reply, each with a reply subject of its own. */
export class OutgoingCalls {
  readonly #mailbox: Mailbox;
  readonly #subjects: Subjects | undefined;
  readonly #open = new BriefMap<string, OutgoingCall>();
  /** Calls that failed because the connection broke, until their workers can be told. */
  #abandoned: OutgoingCall[] = [];

  constructor(mailbox: Mailbox, subjects: Subjects | undefined) {
    this.#mailbox = mailbox;
    this.#subjects = subjects;
  }

  get size(): number {
    return this.#open.size;
  }

  list(): readonly OutgoingCall[] {
    return this.#open.list().map(([, call]) => call);
  }

  isOpen(token: string): boolean {
    return this.#open.get(token) !== undefined;
  }

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
        this.#mailbox.liveness.greetOnce();
        if (payload.requests.length > 1) this.#cancelSingly(payload);
        const sending = { payload, text, headers, route, resolve, reject };
        this.#send(new OutgoingCall(this.#mailbox.nextToken("o"), sending, route.remote));
      } catch (error) {
        // Asynchronously: a tight retry loop would starve the reconnect.
        setTimeout(reject, 0, error);
      }
    });
  }

  receive(token: string, message: Msg, reply: string): void {
    const call = this.#open.get(token);
    if (message.data.length === 0 && isUndelivered(message)) {
      if (call !== undefined) this.#undelivered(call);
      return;
    }
    const text = this.#mailbox.text(message, call !== undefined);
    if (text?.includes('"method"') && this.#receiveNotice(call, text, message, reply)) return;
    if (call === undefined) return;
    if (text === undefined) this.#settle(call).reject(badReply("the reply is not UTF-8"));
    else if (call.hasItemsBefore(message)) this.#settle(call).resolve(text);
    else this.#failIncomplete(call);
  }

  fail(error: WireError): void {
    this.#abandoned = [];
    for (const call of this.list()) this.#settle(call).reject(error);
  }

  /** The replies to a batch arrive together, so its other calls would wait for one that was cancelled here only. */
  #cancelSingly({ requests, outgoing }: Payload): void {
    outgoing.forEach((each, i) => {
      const { cancel } = each;
      const cancelBoth = (error: WireError): void => {
        cancel?.(error);
        for (const call of this.list()) {
          if (call.sending.payload.requests === requests) this.#sendCancel(call, requests[i]?.id);
        }
      };
      each.cancel = cancelBoth;
    });
  }

  /** NATS refused a publish. Returns whether a call or a stream failed because of that. */
  forbidden(subject: string): boolean {
    let fails = false;
    for (const call of this.list()) {
      const isUnsent = call.subject === subject;
      // Without credit, a stream would soon stop, and an upload would lack items.
      const isNeeded = call.credit > 0 || call.uploaded > 0;
      if (!isUnsent && !(isNeeded && call.remote === subject)) continue;
      const code = isUnsent ? "CONNECTION_FAILED" : "CONNECTION_LOST";
      const error = new WireError(code, `this user may not publish to ${subject}`);
      this.#settle(call).reject(error);
      fails = true;
    }
    return fails;
  }

  /** The connection broke: idempotent calls wait for the next one, the others fail. */
  suspend(error: WireError): void {
    for (const call of this.list()) {
      if (isIdempotent(call.sending.payload)) continue;
      this.#settle(call).reject(error);
      this.#abandoned.push(call);
    }
  }

  /** The connection was made again: cancels what workers still run, and repeats idempotent calls. */
  resume(): void {
    const open = this.list();
    for (const call of [...this.#abandoned, ...open]) this.#sendCancels(call);
    this.#abandoned = [];
    for (const call of open) this.lose(call, true);
  }

  /** The worker of a call is gone. An idempotent call goes to another, and after an outage waits for one. */
  lose(call: OutgoingCall, isOutage = false, message = workerGone): void {
    const { payload, reject } = this.#settle(call);
    if (!isIdempotent(payload) || call.repeats >= mostRepeats) {
      reject(new WireError("CONNECTION_LOST", message));
      return;
    }
    for (const outgoing of payload.outgoing) outgoing.gap();
    // The caller may cancel because of the gap.
    if (payload.cancelled) return;
    try {
      this.#send(call.repeat(this.#mailbox.nextToken("o"), isOutage ? mostReturns : 0));
    } catch (error) {
      reject(error);
    }
  }

  #undelivered(call: OutgoingCall): void {
    if (call.remote !== undefined || call.unanswered > 0) {
      // After the loss of a node, its worker may be connecting to another.
      if (!call.isAtRisk) this.lose(call);
      return;
    }
    try {
      const next = call.nextSubject();
      if (next !== undefined) this.#publish(call);
      else {
        this.#mailbox.liveness.greetAgain();
        if (call.patience === 0) throw this.#noWorkerFor(call);
        this.#retryLater(call);
      }
    } catch (error) {
      this.#settle(call).reject(error);
    }
  }

  #noWorkerFor({ repeats, sending: { payload } }: OutgoingCall): WireError {
    const { length, 0: first } = payload.requests;
    const what = length === 1 ? first?.method : `a batch of ${length}`;
    const message =
      this.#subjects === undefined
        ? "the caller is gone"
        : `no worker listens under the subject ${this.#subjects.base}, so ${what} was not delivered`;
    return new WireError(repeats === 0 ? "CONNECTION_FAILED" : "CONNECTION_LOST", message);
  }

  #retryLater(call: OutgoingCall): void {
    call.patience--;
    this.#mailbox.later(returnMs, () => {
      if (!this.isOpen(call.token)) return;
      call.startAgain();
      try {
        this.#publish(call);
      } catch {
        // Disconnected again; `resume` repeats the call.
      }
    });
  }

  /** A message before the reply. False if it is the reply after all. */
  #receiveNotice(
    call: OutgoingCall | undefined,
    text: string,
    source: Msg,
    reply: string,
  ): boolean {
    const { incoming } = this.#mailbox;
    const message = parsePayload(text, incoming.limits.maxBatch);
    if (!hasCalls(message)) return false;
    if (call !== undefined) call.unanswered = 0;
    if (call !== undefined && isEnvelope(message) && message.id === undefined) {
      // The reply subject of a call back is only for its own reply.
      if (reply !== "") call.remote = reply;
      if (this.#takeNotice(call, message, text)) return true;
    }
    incoming.answerToMailbox(message, text, source, reply);
    return true;
  }

  /** A notification about an open call. False if it is for the service. */
  #takeNotice(call: OutgoingCall, message: Envelope, text: string): boolean {
    const isHeld = message.method === "$/held";
    if (isHeld || message.method === "$/uploadCredit") {
      if (isHeld) this.#mailbox.liveness.receiveHeld(call);
      this.#grantUpload(call, message);
      if (!call.hasItemsOf(message)) this.#failIncomplete(call);
      return true;
    }
    if (message.method === "$/gone") {
      this.lose(call);
      return true;
    }
    const { payload, reject } = call.sending;
    if (message.method === "$/stream") {
      if (!call.countItem(message)) {
        this.#failIncomplete(call);
        return true;
      }
      // A worker that ignores credit must not fill memory.
      const most = itemWindow * this.#mailbox.incoming.limits.maxMessageBytes;
      call.unread ??= new UnreadItems(() => {});
      if (!call.unread.add(text.length, most)) {
        this.#cancel(call);
        const sentence = `the worker sent more than ${most} characters ahead of the reader`;
        reject(new WireError("TOO_LARGE", sentence));
        return true;
      }
    }
    const [only, second] = payload.requests;
    const giveCredit = (given: unknown, count: number): void => {
      // The id in an item of a single call may be anything, such as too deep to be written.
      const id = second === undefined ? only?.id : given;
      call.unread?.credit(count);
      if (call.remote === undefined) return;
      call.credit += count;
      this.notify(call.remote, call, "$/credit", { id, count });
    };
    return payload.take(message, text, giveCredit) !== false;
  }

  #grantUpload(call: OutgoingCall, message: Envelope): void {
    const more = call.newlyGranted(message);
    const { payload } = call.sending;
    const id = payload.requests[0]?.id;
    if (more === 0 || id === undefined) return;
    const send = (members: object): void => {
      if (call.remote === undefined || !this.isOpen(call.token)) return;
      const params = { id, ...members, seq: ++call.uploaded };
      const text = requestText({ jsonrpc: "2.0", method: "$/upload", params });
      payload.tap?.(text, "sent");
      this.#mailbox.publish(call.remote, text, this.#mailbox.replyTo(call.token));
    };
    payload.outgoing[0]?.upload?.grant(more, {
      item: send,
      done: () => send({ done: true }),
      ready: () => this.#mailbox.ready(),
    });
  }

  /** Items of a stream are missing, so the rest is useless. */
  #failIncomplete(call: OutgoingCall): void {
    this.#cancel(call);
    this.lose(call, false, "items of the stream were lost on their way");
  }

  #send(call: OutgoingCall): void {
    this.#publish(call);
    this.#open.set(call.token, call);
    const cancel = (): void => this.#cancel(call);
    call.sending.payload.onCancel = cancel;
    this.#mailbox.liveness.watch();
  }

  #publish({ subject, token, sending: { text, headers } }: OutgoingCall): void {
    this.#mailbox.publish(subject, text, this.#mailbox.replyTo(token), headers);
  }

  #cancel(call: OutgoingCall): void {
    if (this.#open.take(call.token) !== undefined) this.#sendCancels(call);
  }

  #sendCancels(call: OutgoingCall): void {
    for (const { id } of call.sending.payload.requests) this.#sendCancel(call, id);
  }

  #sendCancel(call: OutgoingCall, id: Id | undefined): void {
    const where = call.remote ?? this.#subjects?.workers;
    if (where !== undefined && id !== undefined)
      this.notify(where, call, "$/cancelRequest", { id });
  }

  /** Sends a notification about a call to its worker, or to all workers. */
  notify(where: string, { token }: OutgoingCall, method: string, params?: Params): void {
    this.#mailbox.notify(where, method, params, this.#mailbox.replyTo(token));
  }

  #settle({ token, sending }: OutgoingCall): Sending {
    this.#open.take(token);
    sending.payload.onCancel = undefined;
    return sending;
  }
}

/** Whether every call of the payload is idempotent. */
function isIdempotent({ outgoing }: Payload): boolean {
  return outgoing.every(({ idempotent, upload }) => idempotent && !upload?.begun);
}
