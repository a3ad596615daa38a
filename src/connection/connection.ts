/// <reference lib="esnext.disposable" preserve="true" />
import { systemClock } from "../protocol/clock.ts";
import { consoleLog } from "../protocol/console-log.ts";
import { WireError } from "../protocol/errors.ts";
import { HeldBytes } from "../protocol/held-bytes.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import { defaultLimits } from "../protocol/limits.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Id, Params, Reply, Request } from "../protocol/message.ts";
import { type CallBackOptions, Origin, type Peer } from "../protocol/origin.ts";
import { Running } from "../protocol/running.ts";
import type { Seal } from "../protocol/seal.ts";
import { creditedText, requestText } from "../protocol/serialize.ts";
import { harmless } from "../protocol/tap.ts";
import { sendCancel } from "./call-notices.ts";
import { callOver } from "./call-over.ts";
import type { Channel, CloseReason } from "./channel.ts";
import type { ConnectionOptions, FinishOptions } from "./connection-options.ts";
import { farewell } from "./farewell.ts";
import { Incoming } from "./incoming.ts";
import { Line } from "./line.ts";
import type { Notices } from "./notices.ts";
import type { SentPayload } from "./pending.ts";
import { quiet } from "./quiet.ts";
import { SealedChannel } from "./sealed-channel.ts";
import { withoutMethods } from "./without-methods.ts";

/**
 * Joins a channel, the calls that wait for an answer, and a service: both ends call and answer.
 * @example
 * ```ts
 * import { type Channel, Connection } from "callwire/connection";
 *
 * declare const channel: Channel; // a duplex pipe for strings, such as a data channel of WebRTC
 * const transport = { kind: "webrtc", headers: {}, remoteAddress: undefined };
 * const connection = new Connection(channel, { transport, service: server });
 * console.log(await connection.call("echo", ["hi"]));
 * ```
 */
export class Connection implements Peer, AsyncDisposable {
  readonly origin: Origin;
  /** Resolves when the connection is gone, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #line: Line;
  readonly #incoming: Incoming;
  readonly #notices: Notices | undefined;
  readonly #seal: Seal | undefined;
  #deaf = false;

  constructor(channel: Channel, options: ConnectionOptions) {
    const { service, tap, transport, seal = service?.seal } = options;
    const limits = options.limits ?? service?.limits ?? defaultLimits;
    const log = options.log ?? service?.log ?? consoleLog;
    const running = service?.running ?? new Running(systemClock);
    this.origin = new Origin(transport, this, limits);
    this.origin.held = new HeldBytes(limits.maxInFlightBytes);
    this.#seal = seal?.();
    const outer =
      this.#seal === undefined ? channel : new SealedChannel(channel, this.#seal, this.origin, log);
    this.#line = new Line({
      channel: outer,
      origin: this.origin,
      running,
      limits,
      log,
      tap: tap === undefined ? undefined : harmless(tap),
      watch: service?.watch,
    });
    this.closed = this.#line.closed;
    this.#notices = options.notices;
    const answerer = service?.answerer ?? withoutMethods(running, limits, log);
    this.#incoming = new Incoming(this.#line, answerer, options);
    outer.listen(this.#incoming);
    this.#incoming.admit(options);
  }

  get isOpen(): boolean {
    return this.#line.isOpen;
  }

  get canNotify(): boolean {
    return this.#line.isOpen;
  }

  get givesCredit(): boolean {
    return this.#notices === undefined;
  }

  /** How many messages of the peer could be read as JSON. */
  get received(): number {
    return this.#line.received;
  }

  /** How many calls await their answer. */
  get pending(): number {
    return this.#line.pending.size;
  }

  call(method: string, params?: Params, options?: CallBackOptions): Promise<unknown> {
    return callOver(this, method, params, options, this.#line.running.clock);
  }

  notify(method: string, params?: Params): boolean {
    return this.#line.notify(method, params);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    const { watch } = this.#line;
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
      this.#line.write(text);
      // Whoever waits for one before the next must not fill memory faster than the wire takes it.
      return Promise.resolve(this.ready()).then(() => undefined);
    }
    const reply = this.#replyTo(id, request, outgoing, { length: text.length, count: 1 });
    this.#line.write(text);
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
    this.#line.write(text);
    return replies;
  }

  #replyTo(id: Id, request: Request, outgoing: Outgoing, payload: SentPayload): Promise<Reply> {
    const cancelled = (): void => sendCancel(this.#line, this.#notices, id);
    // The reply has to be read, also where the peer's own calls wait.
    this.#line.pacing.release();
    return this.#line.pending.add(id, request, outgoing, cancelled, payload);
  }

  /** Undefined while the wire takes more; a stream waits here rather than fill memory. */
  ready(): Promise<void> | undefined {
    return this.#line.ready();
  }

  /** Lets what was sent go out, then closes; open calls fail with `CLOSED`. */
  async close(reason: CloseReason = "done"): Promise<void> {
    if (this.#line.isOpen) {
      this.#line.close(new WireError("CLOSED", "the connection was closed"), reason);
    }
    await this.closed;
  }

  /** Takes no more calls, lets those that run finish, then closes. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { drainMs = 10_000 } = options;
    const { running, limits, log, pending } = this.#line;
    await this.#incoming.decided(drainMs);
    this.#incoming.answerer = withoutMethods(running, limits, log);
    this.#incoming.answerer.draining = true;
    if (options.deaf) {
      this.#deaf = true;
      pending.fail(new WireError("CONNECTION_LOST", "the other end sends nothing more"));
    }
    await quiet(this.origin, drainMs);
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
    if (isOwed && this.#seal?.mayReply !== false) this.#line.write(farewell);
  }

  /** A producer that hears of credit only when its first item has arrived has made thousands by then. */
  #textOf(request: Request, { read }: Outgoing): string {
    const hasCredit = read === true && this.givesCredit && request.jsonrpc !== undefined;
    const text = requestText(request);
    return hasCredit ? creditedText(text, itemWindow) : text;
  }

  #mustBeOpen(): void {
    if (!this.#line.isOpen || this.#deaf) throw new WireError("CLOSED", "the connection is closed");
  }
}
