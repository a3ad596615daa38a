/// <reference lib="esnext.disposable" preserve="true" />

import { systemClock } from "../protocol/clock.ts";
import { defaultDrainMs } from "../protocol/defaults.ts";
import { type RpcError, WireError } from "../protocol/errors.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import { defaultLimits } from "../protocol/limits.ts";
import { carriesAny, type Link, type Outgoing } from "../protocol/link.ts";
import { plainLog } from "../protocol/log.ts";
import { HeldBytes } from "../protocol/memory-bounds.ts";
import type { Id, Params, Reply, Request } from "../protocol/message.ts";
import { type CallBackOptions, Origin, type Peer } from "../protocol/origin.ts";
import type { Seal } from "../protocol/seal.ts";
import { creditedText, requestText } from "../protocol/serialize.ts";
import { ServerRunning } from "../protocol/server-running.ts";
import { safeTap } from "../protocol/tap.ts";
import type { BytesBeside } from "./bytes-beside.ts";
import { sendCancel } from "./call-notices.ts";
import { unlessCancelled } from "./cancelled-wait.ts";
import type { Channel, CloseReason } from "./channel.ts";
import type { ConnectionOptions, FinishOptions } from "./connection-options.ts";
import { ConnectionState } from "./connection-state.ts";
import { Incoming } from "./incoming.ts";
import { NoMethods } from "./no-methods.ts";
import type { Notices } from "./notices.ts";
import { callPeer } from "./peer-call.ts";
import type { SentPayload } from "./pending.ts";
import { SealedChannel } from "./sealed-channel.ts";
import { shutdownNotice } from "./shutdown-notice.ts";

/**
 * A channel with the calls that wait for a reply and a service: both sides call and answer.
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
  /** Resolves when the connection is closed, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly grantUpload: Peer["grantUpload"];
  /** Asks the peer, if the wire carries bytes. */
  readonly carriesBytes: Link["carriesBytes"];
  readonly #state: ConnectionState;
  readonly #incoming: Incoming;
  readonly #notices: Notices | undefined;
  readonly #seal: Seal | undefined;
  #inputEnded = false;
  /** Settles when the peer has said whether it accepts bytes. */
  #agreeing: Promise<void> | undefined;
  #isAgreed = false;

  constructor(channel: Channel, options: ConnectionOptions) {
    const { service, tap, transport, seal = service?.seal } = options;
    const limits = options.limits ?? service?.limits ?? defaultLimits;
    const log = options.log ?? service?.log ?? plainLog;
    const running = service?.running ?? new ServerRunning(systemClock);
    this.origin = new Origin(transport, this, limits);
    this.origin.held = new HeldBytes(limits.maxInFlightBytes);
    this.#seal = seal?.();
    const outer: Channel =
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
    this.grantUpload = this.givesCredit
      ? (id, count) => void this.#state.notify("$/uploadCredit", { id, count })
      : undefined;
    if (outer.sendBytes !== undefined && this.#notices === undefined) {
      const loadBeside = this.#loader();
      this.#state.loadBeside = loadBeside;
      this.carriesBytes = () => loadBeside().then((beside) => beside.accepted());
    }
    const answerer = service?.answerer ?? new NoMethods({ running, limits, log });
    this.#incoming = new Incoming(this.#state, answerer, options);
    outer.listen(this.#incoming);
    this.#incoming.admit(options);
  }

  get isOpen(): boolean {
    return this.#state.isOpen;
  }

  /** The error with which the peer refused the connection, such as -32001 for a missing credential. */
  get refusal(): RpcError | undefined {
    return this.#state.refusal;
  }

  get canNotify(): boolean {
    return this.#state.isOpen;
  }

  get givesCredit(): boolean {
    return this.#notices === undefined;
  }

  /** Number of messages of the peer that were valid JSON. */
  get received(): number {
    return this.#state.received;
  }

  /** Number of calls that wait for a reply. */
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
    const { attachments, types } = request;
    // The reply may have bytes beside it only if the peer knows that they are accepted.
    if (types !== undefined && !this.#isAgreed && this.carriesBytes !== undefined)
      return this.#sendLater(request, outgoing);
    const write = (): Promise<Reply | undefined> => this.#write(request, outgoing);
    if (attachments === undefined) return write();
    const { beside } = this.#state;
    if (beside !== undefined) return beside.send(request, attachments, outgoing, write);
    attachments.discard();
    const sentence = "this connection carries no bytes beside a message";
    return Promise.reject(new WireError("UNSUPPORTED", sentence));
  }

  /** Sends a request once both sides know whether they accept bytes. All that wait are sent in order. */
  async #sendLater(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    const agreed = (): void => {
      this.#isAgreed = true;
    };
    // If the code for bytes cannot be loaded, other calls still go.
    this.#agreeing ??= Promise.resolve(carriesAny(this)).then(agreed, agreed);
    await unlessCancelled(this.#agreeing, outgoing);
    if (outgoing.failed === undefined) return this.#send(request, outgoing);
    request.attachments?.discard();
    throw outgoing.failed;
  }

  /** Few connections need it, so the code is loaded by the first that does. */
  #loader(): () => Promise<BytesBeside> {
    const link = { send: (own: Request, call: Outgoing) => this.#write(own, call) };
    let loading: Promise<BytesBeside> | undefined;
    return () => {
      loading ??= import("./bytes-beside.ts").then(({ BytesBeside }) => {
        this.#state.beside = new BytesBeside(this.#state, link);
        return this.#state.beside;
      });
      return loading;
    };
  }

  #write(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
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
      // A caller that awaits each notification must not fill memory faster than the wire sends.
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
    // The reply has to be read, even while the peer's calls are paused.
    const { backpressure } = this.#state;
    if (backpressure.isPaused) backpressure.release();
    return this.#state.pending.add(id, request, outgoing, cancelled, payload);
  }

  /** Undefined while the wire accepts more; streams wait here rather than fill memory. */
  ready(): Promise<void> | undefined {
    return this.#state.ready();
  }

  /** Sends what is queued, then closes; open calls fail with `CLOSED`. */
  async close(reason: CloseReason = "done"): Promise<void> {
    if (this.#state.isOpen) {
      this.#state.close(new WireError("CLOSED", "the connection was closed"), reason);
    }
    await this.closed;
  }

  /** Refuses new calls, lets running ones finish, cancels the rest, then closes. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { drainMs = defaultDrainMs } = options;
    await this.#incoming.decided(drainMs);
    this.#incoming.answerer = this.#incoming.answerer.refusing();
    if (options.deaf) {
      this.#inputEnded = true;
      this.#state.pending.fail(
        new WireError("CONNECTION_LOST", "the peer closed its side of the connection"),
      );
    }
    await this.#incoming.answerer.drain(this.origin, drainMs);
    await this.dismiss();
  }

  /** Refuses all calls, announces that, and closes. */
  async dismiss(): Promise<void> {
    this.#announceShutdown();
    await this.close("going-away");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Skipped while a call runs, and for a peer that closed its side, uses its own notices or would not accept the
   * message.
   */
  #announceShutdown(): void {
    const isOwed = this.origin.inFlight === 0 && !this.#inputEnded && this.#notices === undefined;
    if (isOwed && this.#seal?.mayReply !== false) this.#state.write(shutdownNotice);
  }

  /** A producer that gets credit only after its first item arrived has made thousands by then. */
  #textOf(request: Request, { read }: Outgoing): string {
    const hasCredit = read === true && this.givesCredit && request.jsonrpc !== undefined;
    const text = requestText(request);
    return hasCredit ? creditedText(text, itemWindow) : text;
  }

  #mustBeOpen(): void {
    if (!this.#state.isOpen || this.#inputEnded)
      throw this.refusal ?? new WireError("CLOSED", "the connection is closed");
  }
}
