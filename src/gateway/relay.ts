import { hasEnded, whenEnded } from "../protocol/call-end.ts";
import { type Clock, timeUntil } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { RpcError, WireError } from "../protocol/errors.ts";
import { callFailureIn } from "../protocol/failure-data.ts";
import { caught } from "../protocol/handler-reply.ts";
import { ItemQueue, itemWindow } from "../protocol/item-queue.ts";
import { ItemSender, streamRefusal } from "../protocol/item-sender.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import {
  type ErrorObject,
  isNotification,
  nextId,
  type Reply,
  type Request,
  type TypedPaths,
} from "../protocol/message.ts";
import type { Version } from "../protocol/parse.ts";
import { outcomeOf } from "../protocol/retry-rule.ts";
import { internalError } from "../protocol/standard-errors.ts";
import { traceContextOf } from "../protocol/trace-context.ts";
import { openUpload } from "../protocol/upload.ts";
import { UploadSender } from "../protocol/upload-sender.ts";
import { TypedJson } from "../protocol/value-codec.ts";
import { BrokenStream, fromServer, Settled, tooLong } from "./failures.ts";
import { isLongerThan } from "./outgoing-size.ts";
import { withOwnTokens } from "./progress-tokens.ts";
import { attachmentsOf, carriable } from "./relayed-bytes.ts";
import { type SendUpstream, sendDirectly } from "./upstream-call.ts";

/** How a call is forwarded. */
export interface RelaySettings {
  /** The name of the method on the upstream. */
  readonly method: string;
  /** Whether the call may run twice, so that the link may send it again. */
  readonly idempotent: boolean;
  /** Whether another target can take the call if this one is stopping. @default false */
  readonly goesElsewhere?: boolean;
  /** The JSON-RPC version of the upstream. @default "2.0" */
  readonly version?: Version | undefined;
  /** Whether the upstream describes the method as a stream. @default false */
  readonly streams?: boolean;
  /** The remaining time of the caller, if it set one. */
  readonly timeoutMs?: number | undefined;
  /** Longest message to the upstream. @default no limit */
  readonly maxBytes?: number | undefined;
  /** The token for partial results, instead of the caller's. */
  readonly partialToken?: string | undefined;
  /** Sent as headers if the transport has headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends the call. @default over the link at once */
  readonly send?: SendUpstream | undefined;
}

/** Most items that wait for a reader, and most characters of them; stops a producer that ignores credit from filling memory. */
const mostItems = 65_536;
const mostAhead = 16 * 1024 * 1024;

/**
 * One forwarded call: items and progress are relayed to its caller as they arrive, and a cancellation
 * by the caller is relayed to the upstream.
 */
export class Relay implements Outgoing {
  cancel: ((error: WireError) => void) | undefined = undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly goesElsewhere: boolean;
  readonly read: boolean;
  readonly upload: UploadSender | undefined;
  readonly #context: Context;
  readonly #mayRepeat: boolean;
  /** Whether the caller accepts rich values. */
  readonly #isRich: boolean;
  readonly #onActivity: (() => void) | undefined;
  #items: ItemQueue | undefined;
  #delivering: Promise<void> | undefined;
  #refused: Settled | undefined;
  /** Characters received since a producer that respects credit would have waited. */
  #ahead = 0;

  private constructor(
    { credit, types, upload }: Request,
    context: Context,
    settings: RelaySettings,
    onActivity: (() => void) | undefined,
  ) {
    this.#context = context;
    this.headers = settings.headers;
    this.goesElsewhere = settings.goesElsewhere === true;
    this.#mayRepeat = settings.idempotent;
    this.#onActivity = onActivity;
    this.#isRich = types !== undefined;
    this.read = credit !== undefined || settings.streams === true;
    if (upload) this.upload = this.#passOn();
  }

  /** Passes on what the caller uploads, as fast as the upstream asks for it. */
  #passOn(): UploadSender {
    // An upload lasts as long as its caller sends.
    this.#context.limit?.(Number.POSITIVE_INFINITY);
    const items = openUpload(this.#context, (value, types) => this.#typed(value, types));
    return new UploadSender(items, {
      members: (item) => (item instanceof TypedJson ? { ...item } : { value: item }),
      fail: (thrown) => this.#fail(thrown),
    });
  }

  /** A restarted stream would repeat items that the caller has, without telling it. */
  get idempotent(): boolean {
    return this.#mayRepeat && this.#items === undefined;
  }

  /**
   * Forwards a request over a link. Rejects with a WireError if there is no reply, and with
   * anything else that the link threw. `onActivity` is called at the first sign that the upstream works on it.
   */
  static async send(
    link: Link,
    request: Request,
    context: Context,
    settings: RelaySettings,
    onActivity?: () => void,
  ): Promise<Reply | undefined> {
    if (hasEnded(context)) throw callerGone();
    const refusal = settings.streams && !isNotification(request) && streamRefusal(context);
    if (refusal) throw new Settled(refusal);
    const attachments = attachmentsOf(request, context);
    const whole =
      attachments === undefined
        ? request
        : await carriable(request, attachments, link, settings.maxBytes, context);
    if (attachments !== undefined && hasEnded(context)) throw callerGone();
    const outgoing = outgoingRequest(whole, context, settings);
    const { maxBytes } = settings;
    // The upstream might close the connection, which other calls share.
    if (maxBytes !== undefined && isLongerThan(maxBytes, outgoing)) throw new Settled(tooLong);
    const relay = relayOf(() => new Relay(request, context, settings, onActivity));
    whenEnded(context, () => relay.cancel?.(callerGone()));
    try {
      const { send = sendDirectly } = settings;
      const reply = await fromServer(send(link, outgoing, relay, context));
      await relay.#end();
      if (relay.#isUnderWay && outcomeOf(reply?.error) !== "final")
        relay.#refused ??= new Settled(reply?.error as ErrorObject);
      if (relay.#refused !== undefined) throw relay.#refused;
      return reply;
    } catch (error) {
      await relay.#end();
      if (relay.#refused !== undefined) throw relay.#refused;
      throw relay.#isUnderWay && error instanceof WireError ? new BrokenStream(error) : error;
    } finally {
      relay.upload?.stop();
    }
  }

  /** Whether another target would get items again, or send them again. */
  get #isUnderWay(): boolean {
    return this.#items !== undefined || this.upload?.begun === true;
  }

  item(
    value: unknown,
    give: (count: number) => void,
    types?: TypedPaths,
  ): Promise<void> | undefined {
    if (this.#refused !== undefined) return undefined;
    this.#items ??= this.#begin();
    if (this.#items === undefined) return undefined;
    if (this.#isTooFarAhead(this.#items, value)) {
      this.#refuse(internalError);
      return undefined;
    }
    return this.#items.push(this.#typed(value, types), give);
  }

  progress(value: unknown, types?: TypedPaths): void {
    if (this.#refused !== undefined) return;
    this.#onActivity?.();
    try {
      this.#context.progress(this.#typed(value, types));
    } catch (error) {
      this.#fail(error);
    }
  }

  gap(): void {}

  /** Rich values pass in their JSON form: the gateway need not know their types. */
  #typed(value: unknown, types: TypedPaths | undefined): unknown {
    return this.#isRich && types !== undefined ? new TypedJson(value, types) : value;
  }

  #begin(): ItemQueue | undefined {
    this.#onActivity?.();
    const refusal = streamRefusal(this.#context);
    if (refusal !== undefined) {
      // Unlike a call that the gateway rejects, this one has started on the upstream.
      const failure = callFailureIn(refusal);
      this.#refuse(
        failure === undefined ? refusal : { ...refusal, data: { ...failure, ran: true } },
      );
      return undefined;
    }
    // A stream lasts as long as it is read.
    this.#context.limit?.(Number.POSITIVE_INFINITY);
    const items = new ItemQueue();
    this.#delivering = this.#deliver(items);
    return items;
  }

  #isTooFarAhead({ size }: ItemQueue, value: unknown): boolean {
    this.#ahead = size < 2 * itemWindow ? 0 : this.#ahead + lengthOf(value);
    return size >= mostItems || this.#ahead > mostAhead;
  }

  /** The connection to the caller cannot carry an item, such as one that is too long. */
  #fail(thrown: unknown): void {
    this.#refuse(caught(thrown, this.#context).error ?? internalError);
  }

  #refuse(error: ErrorObject): void {
    this.#refused = new Settled(error);
    this.cancel?.(this.#refused);
  }

  async #deliver(items: ItemQueue): Promise<void> {
    const sender = new ItemSender(this.#context);
    try {
      for (;;) {
        if (!items.empty) {
          const sent = sender.send(items.take());
          if (sent !== true && !(await sent)) break;
        } else if (items.ended) break;
        else await items.arrival();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      sender.end();
    }
  }

  /** The reply must follow all items, so it waits until they were sent. */
  async #end(): Promise<void> {
    this.#items?.end();
    await this.#delivering;
  }
}

/** An upload may be refused. */
function relayOf(make: () => Relay): Relay {
  try {
    return make();
  } catch (error) {
    throw error instanceof RpcError ? new Settled(error) : error;
  }
}

/** The length of an item as JSON; infinite if it is nested too deeply to serialize. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function callerGone(): WireError {
  return new WireError("ABORTED", "the caller has cancelled the call");
}

function outgoingRequest(request: Request, context: Context, settings: RelaySettings): Request {
  // Forward the trace context from whichever transport it came over.
  const { traceparent, tracestate, baggage } = traceContextOf(request, context.transport) ?? {};
  // Ids of different callers may be equal, so each forwarded call gets its own.
  const id = isNotification(request) ? undefined : nextId();
  return {
    jsonrpc: settings.version === "1.0" ? undefined : "2.0",
    method: settings.method,
    attachments: request.attachments,
    params: withOwnTokens(request.params ?? undefined, id, settings.partialToken),
    id,
    timeoutMs: settings.timeoutMs,
    traceparent,
    tracestate,
    baggage,
    types: request.types,
    upload: request.upload,
  };
}

/** The remaining time of the caller, if it set a timeout. */
export function timeLeft(request: Request, context: Context, clock: Clock): number | undefined {
  const asked = request.timeoutMs ?? context.transport.timeoutMs;
  if (asked === undefined || context.deadline === undefined) return undefined;
  return Math.max(1, timeUntil(clock, context.deadline));
}
