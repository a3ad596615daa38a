/// <reference lib="esnext.disposable" preserve="true" />
import { Answerer } from "../protocol/answer.ts";
import { systemClock } from "../protocol/clock.ts";
import { abandonCalls, cancelCall, dropCall } from "../protocol/context.ts";
import { doubled } from "../protocol/doubled.ts";
import {
  ErrorCode,
  internalError,
  methodNotFound,
  serverBusy,
  WireError,
} from "../protocol/errors.ts";
import { isRefusal } from "../protocol/handle.ts";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import type { Outgoing } from "../protocol/link.ts";
import { consoleLog, type Log } from "../protocol/log.ts";
import {
  type ErrorObject,
  failure,
  type Id,
  type Params,
  type Reply,
  type Request,
} from "../protocol/message.ts";
import { Origin, type Peer, type Transport } from "../protocol/origin.ts";
import { type Envelope, isEnvelope, parsePayload, unparsable } from "../protocol/parse.ts";
import { Running } from "../protocol/running.ts";
import type { SealMaker } from "../protocol/seal.ts";
import { errorText, idText, requestText } from "../protocol/serialize.ts";
import type { Service } from "../protocol/service.ts";
import { harmless, type Tap } from "../protocol/tap.ts";
import type { Watches } from "../protocol/watch.ts";
import { Admission, type Verdict } from "./admission.ts";
import { callOver } from "./call-over.ts";
import type { Channel, ChannelFault, ChannelListener, CloseReason } from "./channel.ts";
import type { Notices } from "./notices.ts";
import { Pending } from "./pending.ts";
import { quiet } from "./quiet.ts";
import { SealedChannel } from "./sealed-channel.ts";

export interface ConnectionOptions {
  /** Answers what the other end calls; without it every call is an unknown method. */
  readonly service?: Service | undefined;
  readonly transport: Transport;
  /** Limits on what the other end sends; the service's where there is one. */
  readonly limits?: Limits | undefined;
  readonly log?: Log | undefined;
  /** After so many messages that could not be read, the other end is not speaking JSON-RPC. @default 10 */
  readonly maxStrikes?: number | undefined;
  /** What the service said of the other end, where the wire has asked before; else it is asked now. */
  readonly verdict?: { readonly value: Verdict } | undefined;
  /** Changes the texts on their way; that of the service where there is one. */
  readonly seal?: SealMaker | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Names for cancelling and for progress, in place of `$/cancelRequest` and `$/progress`. */
  readonly notices?: Notices | undefined;
}

const httpRequestLine = /^[A-Z]+ \S+ HTTP\/\d/;

export interface FinishOptions {
  /** How long the running calls may take. @default 10000 */
  readonly drainMs?: number | undefined;
  /** Whether the other end sends nothing more, so that calls of ours cannot be answered. @default false */
  readonly deaf?: boolean | undefined;
}

/** Joins a channel, the calls that wait for an answer, and a service: both ends call and answer. */
export class Connection implements Peer, ChannelListener, AsyncDisposable {
  readonly canNotify = true;
  readonly origin: Origin;
  /** Resolves when the connection is gone, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #channel: Channel;
  readonly #pending = new Pending();
  #answerer: Answerer;
  readonly #running: Running;
  readonly #limits: Limits;
  readonly #log: Log;
  readonly #serves: boolean;
  readonly #watch: Watches | undefined;
  readonly #maxStrikes: number;
  readonly #tap: Tap | undefined;
  readonly #notices: Notices | undefined;
  #strikes = 0;
  readonly #admission: Admission | undefined;
  #open = true;
  #deaf = false;
  #gone = false;
  readonly #draining: (() => void)[] = [];
  #tellClosed: (error: Error | undefined) => void = () => {};

  constructor(channel: Channel, options: ConnectionOptions) {
    const { service, seal = service?.seal } = options;
    this.#limits = options.limits ?? service?.limits ?? defaultLimits;
    this.#log = options.log ?? service?.log ?? consoleLog;
    this.#serves = service !== undefined;
    this.#maxStrikes = options.maxStrikes ?? 10;
    this.#tap = options.tap === undefined ? undefined : harmless(options.tap);
    this.#notices = options.notices;
    this.#running = service?.running ?? new Running(systemClock);
    this.#answerer = service?.answerer ?? withoutMethods(this.#running, this.#limits, this.#log);
    this.origin = new Origin(options.transport, this, this.#limits);
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    this.#watch = service?.watch;
    this.#watch?.connection(options.transport.kind, 1);
    this.#channel =
      seal === undefined ? channel : new SealedChannel(channel, seal(), this.origin, this.#log);
    this.#channel.listen(this);
    if (options.verdict !== undefined) this.#decide(options.verdict.value, []);
    else if (service?.admit !== undefined) {
      this.#admission = new Admission(service.admit, options.transport, (verdict, held) =>
        this.#decide(verdict, held),
      );
    }
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** How many calls await their answer. */
  get pending(): number {
    return this.#pending.size;
  }

  // What this end sends.

  call(method: string, params?: Params, options?: { signal?: AbortSignal }): Promise<unknown> {
    return callOver(this, method, params, options);
  }

  notify(method: string, params?: Params): boolean {
    if (!this.#open) return false;
    const text = requestText({ jsonrpc: "2.0", method, params });
    if (this.#hasRoom()) this.#write(text);
    return this.#open;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return this.#watch === undefined
      ? this.#send(request, outgoing)
      : this.#watch.callBack(request, (own) => this.#send(own, outgoing));
  }

  #send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    let text: string;
    try {
      text = requestText(request);
      this.#mustBeOpen();
    } catch (error) {
      return Promise.reject(error);
    }
    const { id } = request;
    if (id === undefined) {
      this.#write(text);
      return Promise.resolve(undefined);
    }
    const reply = this.#pending.add(id, request, outgoing, () => this.#tellCancelled(id));
    this.#write(text);
    return reply;
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    let text: string;
    try {
      text = `[${requests.map(requestText).join(",")}]`;
      this.#mustBeOpen();
    } catch (error) {
      return requests.map(() => Promise.reject(error));
    }
    const replies = requests.map((request, i) => {
      const { id } = request;
      if (id === undefined) return Promise.resolve(undefined);
      return this.#pending.add(id, request, outgoing[i] as Outgoing, () => this.#tellCancelled(id));
    });
    this.#write(text);
    return replies;
  }

  /** Undefined while the wire takes more; a stream waits here rather than fill memory. */
  ready(): Promise<void> | undefined {
    if (!this.#open || this.#channel.bufferedBytes < this.#limits.maxBufferedBytes / 4)
      return undefined;
    return new Promise((resolve) => this.#draining.push(resolve));
  }

  /** Lets what was sent go out, then closes; open calls fail with `CLOSED`. */
  async close(reason: CloseReason = "done"): Promise<void> {
    if (this.#open) {
      this.#shut(new WireError("CLOSED", "the connection was closed"));
      this.#channel.close(reason);
    }
    await this.closed;
  }

  /** Takes no more calls, lets those that run finish, then closes. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { drainMs = 10_000 } = options;
    await this.#decided(drainMs);
    this.#answerer = withoutMethods(this.#running, this.#limits, this.#log);
    this.#answerer.draining = true;
    if (options.deaf) {
      this.#deaf = true;
      this.#pending.fail(new WireError("CONNECTION_LOST", "the other end sends nothing more"));
    }
    await quiet(this.origin, drainMs);
    await this.close("going-away");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // What the other end sends.

  message(text: string): void {
    if (!this.#open) return;
    if (this.#admission?.isOpen) {
      if (!this.#admission.hold(text, this.#limits.maxBufferedBytes)) this.#refuse(serverBusy);
      return;
    }
    this.#tap?.(text, "received");
    const { maxBatch, maxMessageBytes, maxReplyLength } = this.#limits;
    // A reply may be longer than a call, and comes only while a call is open.
    const longest =
      this.#pending.size === 0 ? maxMessageBytes : Math.max(maxMessageBytes, maxReplyLength);
    if (text.length > longest) {
      this.fault({ kind: "oversize", message: "the message is too long" });
      return;
    }
    const payload = parsePayload(text, maxBatch);
    if (payload === unparsable) {
      // A web page can make a browser send its request to this port, with calls in the body.
      if (httpRequestLine.test(text)) this.#strikes = this.#maxStrikes;
      this.fault({ kind: "unreadable", message: "the message is not JSON" });
    } else if (Array.isArray(payload)) {
      this.#receiveBatch(payload, text);
    } else if (!isEnvelope(payload) || !this.#receiveOwn(payload)) {
      this.#answer(payload, text);
    }
  }

  fault(fault: ChannelFault): void {
    if (!this.#open) return;
    if (fault.kind === "oversize") {
      // It may have been the reply to any open call, and none may wait for ever.
      this.#pending.failUnnamed(
        new WireError("TOO_LARGE", "the reply is longer than this end accepts"),
      );
      this.#strike(this.#answerer.tooLarge(this.origin), fault.message);
    } else if (fault.kind === "refused") this.#refused(fault);
    else this.#strike(this.#answerer.unreadable(this.origin), fault.message);
  }

  /** A refused call is answered; whatever else was refused may have been the reply to any open call. */
  #refused({ error = internalError, call, message }: ChannelFault): void {
    if (call === undefined) {
      if (this.#pending.size > 0) this.#pending.failUnnamed(new WireError("BAD_REPLY", message));
      this.#strike(errorText("2.0", "null", error), message);
      return;
    }
    const { id } = call;
    const named = typeof id === "string" || typeof id === "number" ? idText(id) : "null";
    this.#strike(id === undefined ? undefined : errorText("2.0", named, error), message);
  }

  drain(): void {
    for (const resolve of this.#draining.splice(0)) resolve();
  }

  end(error?: Error): void {
    const sentence = error?.message ?? "the other end closed the connection";
    this.#shut(new WireError("CONNECTION_LOST", sentence, { cause: error }));
    if (!this.#gone) this.#watch?.connection(this.origin.transport.kind, -1);
    this.#gone = true;
    this.#tellClosed(error);
  }

  #decide(verdict: Verdict, held: readonly string[]): void {
    const said = this.origin.principal;
    if (isRefusal(verdict)) this.#refuse(verdict);
    else if (said !== undefined && verdict !== undefined && said.id !== verdict.id) {
      // A message that was signed said it before, and otherwise.
      this.#refuse({ code: ErrorCode.Unauthenticated, message: "Unauthenticated" });
    } else {
      if (verdict !== undefined) this.origin.principal = verdict;
      for (const text of held) this.message(text);
    }
  }

  #refuse(error: ErrorObject): void {
    this.#write(errorText("2.0", "null", error));
    this.#shut(new WireError("CLOSED", "the other end was refused"));
    this.#channel.close("refused");
  }

  /** Waits until it is known who the other end is, but not for ever. */
  async #decided(atMostMs: number): Promise<void> {
    const decided = this.#admission?.isOpen ? this.#admission.decided : undefined;
    if (decided === undefined) return;
    await new Promise<void>((resolve) => {
      const late = this.#running.clock.after(atMostMs, resolve);
      void decided.then(() => {
        late.cancel();
        resolve();
      });
    });
  }

  /** Replies of ours, and notifications that belong to calls rather than to methods. */
  #receiveOwn(message: Envelope): boolean {
    const { method } = message;
    if (method === undefined) {
      const { result, error } = message as { result?: unknown; error?: unknown };
      if (result === undefined && error === undefined) {
        // An end that only calls expects replies; answering what is none, it would start a quarrel.
        if (!this.#serves) this.#log.debug({}, "a message that is neither a call nor a reply");
        return !this.#serves;
      }
      if (!this.#pending.settle(message))
        this.#log.debug({ id: message.id }, "a reply nobody waits for");
      return true;
    }
    if (message.jsonrpc === doubled) return false;
    if (message.id !== undefined || typeof method !== "string") return false;
    if (this.#notices !== undefined) return this.#receiveNotice(this.#notices, message);
    return method.charCodeAt(0) === 0x24 && this.#receiveSystem(method, message.params);
  }

  #receiveNotice(notices: Notices, { method, params }: Envelope): boolean {
    const notice = notices.read(method as string, params);
    if (notice?.kind === "progress") this.#pending.reported(notice.token)?.progress(notice.value);
    if (notice?.kind === "cancel") {
      dropCall(this.#running, notice.id, (origin) => origin === this.origin);
    }
    return notice !== undefined;
  }

  #tellCancelled(id: Id): void {
    const { method, params } = this.#notices?.cancel(id) ?? {
      method: "$/cancelRequest",
      params: { id },
    };
    this.notify(method, params);
  }

  #receiveSystem(method: string, params: unknown): boolean {
    const { id, token, value, count } = (isEnvelope(params) ? params : {}) as {
      id?: Id;
      token?: unknown;
      value?: unknown;
      count?: unknown;
    };
    switch (method) {
      case "$/cancelRequest":
        if (id !== undefined) cancelCall(this.#running, this.origin, id);
        return true;
      case "$/progress": {
        const outgoing = this.#pending.reported(token);
        outgoing?.progress(value);
        // What is about no call of ours, such as partial results, is for a method to hear.
        return outgoing !== undefined;
      }
      case "$/stream":
        void this.#pending
          .outgoing(id)
          ?.item(value, (more) => this.notify("$/credit", { id, count: more }));
        return true;
      case "$/credit":
        if (id !== undefined && typeof count === "number" && count > 0) {
          this.origin.streams?.get(id)?.(count);
        }
        return true;
      default:
        return false;
    }
  }

  #receiveBatch(entries: unknown[], text: string): void {
    const calls = entries.filter((entry) => !(isEnvelope(entry) && this.#receiveOwn(entry)));
    if (calls.length === 0 && entries.length > 0) return;
    // An id that a double cannot hold is looked up in the text, which must then hold the same entries.
    const rest = calls.length === entries.length ? text : JSON.stringify(calls);
    this.#answer(calls, rest);
  }

  #answer(payload: unknown, text: string): void {
    if (text.length > this.#limits.maxMessageBytes) {
      this.#strike(this.#answerer.tooLarge(this.origin), "the message is too long");
      return;
    }
    const answer = this.#answerer.answerPayload(payload, text, this.origin);
    if (typeof answer === "string") this.#reply(answer);
    else if (answer !== undefined) {
      void answer.then((reply) => {
        if (reply !== undefined) this.#reply(reply);
      });
    }
  }

  #reply(text: string): void {
    // The replies of one turn may be many and long; a channel that holds lets no more calls in.
    if (this.#channel.holds || this.#hasRoom()) this.#write(text);
  }

  #strike(answer: string | undefined, sentence: string): void {
    // An end that only calls expects replies, and would answer a broken one with another message.
    if (this.#serves && answer !== undefined) this.#write(answer);
    this.#strikes++;
    if (this.#strikes < this.#maxStrikes) return;
    this.#log.warn({ fault: sentence }, "closing a connection that sends no JSON-RPC");
    this.#shut(new WireError("CONNECTION_LOST", "the other end sends no JSON-RPC"));
    this.#channel.close("garbage");
  }

  #write(text: string): void {
    if (!this.#open) return;
    this.#tap?.(text, "sent");
    this.#channel.send(text);
  }

  /** False when so much waits that the other end counts as one that does not read, and is cut off. */
  #hasRoom(): boolean {
    const { bufferedBytes } = this.#channel;
    // Looked at before sending: one long message alone does not make a slow reader.
    if (!this.#open || bufferedBytes <= this.#limits.maxBufferedBytes) return true;
    this.#log.warn({ bytes: bufferedBytes }, "closing a connection that does not read");
    this.#shut(new WireError("CONNECTION_LOST", "the other end does not read"));
    this.#channel.close("slow-reader");
    return false;
  }

  #mustBeOpen(): void {
    if (!this.#open || this.#deaf) throw new WireError("CLOSED", "the connection is closed");
  }

  /** Nothing is sent or answered any more; what was open fails. */
  #shut(error: WireError): void {
    if (!this.#open) return;
    this.#open = false;
    this.#pending.fail(error);
    abandonCalls(this.#running, this.origin, {
      code: ErrorCode.RequestCancelled,
      message: "Connection lost",
    });
    this.drain();
  }
}

/** An end that only calls still answers: with "Method not found". */
function withoutMethods(running: Running, limits: Limits, log: Log): Answerer {
  return new Answerer(() => failure(methodNotFound), {
    running,
    limits,
    log,
    versions: new Set(["2.0"]),
    allowNullParams: false,
    timeoutMs: undefined,
    maxRunning: Number.POSITIVE_INFINITY,
  });
}
