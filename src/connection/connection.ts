/// <reference lib="esnext.disposable" preserve="true" />

import { Answerer } from "../protocol/answer.ts";
import { systemClock } from "../protocol/clock.ts";
import { consoleLog } from "../protocol/console-log.ts";
import { defaultDrainMs } from "../protocol/defaults.ts";
import { methodNotFound, WireError } from "../protocol/errors.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import { HeldBytes } from "../protocol/memory-bounds.ts";
import { failure, type Id, type Params, type Reply, type Request } from "../protocol/message.ts";
import { type CallBackOptions, Origin, type Peer } from "../protocol/origin.ts";
import { callsDone } from "../protocol/origin-calls.ts";
import type { Seal } from "../protocol/seal.ts";
import { creditedText, requestText } from "../protocol/serialize.ts";
import { ServerRunning } from "../protocol/server-running.ts";
import { safeTap } from "../protocol/tap.ts";
import { sendCancel } from "./call-notices.ts";
import type { Channel, CloseReason } from "./channel.ts";
import type { ConnectionOptions, FinishOptions } from "./connection-options.ts";
import { ConnectionState } from "./connection-state.ts";
import { Incoming } from "./incoming.ts";
import type { Notices } from "./notices.ts";
import { callPeer } from "./peer-call.ts";
import type { SentPayload } from "./pending.ts";
import { SealedChannel } from "./sealed-channel.ts";
import { shutdownNotice } from "./shutdown-notice.ts";

/** Joins a channel, the calls that wait for an answer, and a service: both ends call and answer. */
export class Connection implements Peer, AsyncDisposable {
  readonly origin: Origin;
  /** Resolves when the connection is gone, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #state: ConnectionState;
  readonly #incoming: Incoming;
  readonly #notices: Notices | undefined;
  readonly #seal: Seal | undefined;
  #deaf = false;

  constructor(channel: Channel, options: ConnectionOptions) {
    const { service, tap, transport, seal = service?.seal } = options;
    const limits = options.limits ?? service?.limits ?? defaultLimits;
    const log = options.log ?? service?.log ?? consoleLog;
    const running = service?.running ?? new ServerRunning(systemClock);
    this.origin = new Origin(transport, this, limits);
    this.origin.held = new HeldBytes(limits.maxInFlightBytes);
    this.#seal = seal?.();
    const outer =
      this.#seal === undefined ? channel : new SealedChannel(channel, this.#seal, this.origin, log);
    this.#state = new ConnectionState({
      channel: outer,
      origin: this.origin,
      running,
      limits,
      log,
      tap: tap === undefined ? undefined : safeTap(tap),
      watch: service?.watch,
    });
    this.closed = this.#state.closed;
    this.#notices = options.notices;
    const answerer = service?.answerer ?? withoutMethods(running, limits, log);
    this.#incoming = new Incoming(this.#state, answerer, options);
    outer.listen(this.#incoming);
    this.#incoming.admit(options);
  }

  get isOpen(): boolean {
    return this.#state.isOpen;
  }

  get canNotify(): boolean {
    return this.#state.isOpen;
  }

  get givesCredit(): boolean {
    return this.#notices === undefined;
  }

  /** How many messages of the peer could be read as JSON. */
  get received(): number {
    return this.#state.received;
  }

  /** How many calls await their answer. */
  get pending(): number {
    return this.#state.pending.size;
  }

  call(method: string, params?: Params, options?: CallBackOptions): Promise<unknown> {
    return callPeer(this, method, params, options, this.#state.running.clock);
  }

  notify(method: string, params?: Params): boolean {
    return this.#state.notify(method, params);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    const { watch } = this.#state;
    return watch === undefined
      ? this.#send(request, outgoing)
      : watch.callBack(request, (own) => this.#send(own, outgoing));
  }

  #send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    let text: string;
    try {
      text = this.#textOf(request, outgoing);
      this.#mustBeOpen();
    } catch (error) {
      return Promise.reject(error);
    }
    const { id } = request;
    if (id === undefined) {
      this.#state.write(text);
      // Whoever waits for one before the next must not fill memory faster than the wire takes it.
      return Promise.resolve(this.ready()).then(() => undefined);
    }
    const reply = this.#replyTo(id, request, outgoing, { length: text.length, count: 1 });
    this.#state.write(text);
    return reply;
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    let text: string;
    try {
      const texts = requests.map((request, i) => this.#textOf(request, outgoing[i] as Outgoing));
      text = `[${texts.join(",")}]`;
      this.#mustBeOpen();
    } catch (error) {
      return requests.map(() => Promise.reject(error));
    }
    const payload = { length: text.length, count: requests.length };
    const replies = requests.map((request, i) => {
      const { id } = request;
      if (id === undefined) return Promise.resolve(undefined);
      return this.#replyTo(id, request, outgoing[i] as Outgoing, payload);
    });
    this.#state.write(text);
    return replies;
  }

  #replyTo(id: Id, request: Request, outgoing: Outgoing, payload: SentPayload): Promise<Reply> {
    const cancelled = (): void => sendCancel(this.#state, this.#notices, id);
    // The reply has to be read, also where the peer's own calls wait.
    this.#state.backpressure.release();
    return this.#state.pending.add(id, request, outgoing, cancelled, payload);
  }

  /** Undefined while the wire takes more; a stream waits here rather than fill memory. */
  ready(): Promise<void> | undefined {
    return this.#state.ready();
  }

  /** Lets what was sent go out, then closes; open calls fail with `CLOSED`. */
  async close(reason: CloseReason = "done"): Promise<void> {
    if (this.#state.isOpen) {
      this.#state.close(new WireError("CLOSED", "the connection was closed"), reason);
    }
    await this.closed;
  }

  /** Takes no more calls, lets those that run finish, then closes. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { drainMs = defaultDrainMs } = options;
    const { running, limits, log, pending } = this.#state;
    await this.#incoming.decided(drainMs);
    this.#incoming.answerer = withoutMethods(running, limits, log);
    this.#incoming.answerer.draining = true;
    if (options.deaf) {
      this.#deaf = true;
      pending.fail(new WireError("CONNECTION_LOST", "the other end sends nothing more"));
    }
    await callsDone(this.origin, drainMs);
    await this.dismiss();
  }

  /** Takes no calls at all, says so, and closes. */
  async dismiss(): Promise<void> {
    this.#bidFarewell();
    await this.close("going-away");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Not where a call still runs, nor to an end that sends nothing more, speaks a protocol of its own or would not take it. */
  #bidFarewell(): void {
    const isOwed = this.origin.inFlight === 0 && !this.#deaf && this.#notices === undefined;
    if (isOwed && this.#seal?.mayReply !== false) this.#state.write(shutdownNotice);
  }

  /** A producer that hears of credit only when its first item has arrived has made thousands by then. */
  #textOf(request: Request, { read }: Outgoing): string {
    const hasCredit = read === true && this.givesCredit && request.jsonrpc !== undefined;
    const text = requestText(request);
    return hasCredit ? creditedText(text, itemWindow) : text;
  }

  #mustBeOpen(): void {
    if (!this.#state.isOpen || this.#deaf)
      throw new WireError("CLOSED", "the connection is closed");
  }
}

/** An end that only calls still answers: with "Method not found". */
export function withoutMethods(running: ServerRunning, limits: Limits, log: Log): Answerer {
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
