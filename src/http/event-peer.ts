import type { Clock, Timer } from "../protocol/clock.ts";
import type { EventForm } from "../protocol/event-form.ts";
import type { Link } from "../protocol/link.ts";
import type { Buffering, WireBuffers } from "../protocol/memory-bounds.ts";
import type { Id, Params, TypedPaths } from "../protocol/message.ts";
import { type Origin, type Peer, unreachablePeer } from "../protocol/origin.ts";
import { resultText, typedText, valueText } from "../protocol/reply-text.ts";
import { idText, requestText } from "../protocol/serialize.ts";
import { eventText, keepAliveText } from "./event-stream.ts";
import type { Recording } from "./replay.ts";

/** Headers of every event stream; proxies must neither cache nor buffer it. */
export const eventHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/** A response that carries events. */
export interface EventSink {
  write(text: string): void;
  /** Sends the headers, if nothing was written yet. */
  flush(): void;
  /** Whether the producer should wait. */
  readonly full: boolean;
  readonly bufferedBytes: number;
  /** Undefined while it takes more; otherwise resolves when it does, or has closed. */
  ready(): Promise<void> | undefined;
  end(): void;
  /** Disconnects a reader that does not read. */
  cut(): void;
}

/** Where events come from: a call, whose method may opt out when the response has already begun. */
export interface EventSource {
  readonly mayCompress: boolean;
}

/** The exchange whose reply is sent as events. */
export interface EventHost {
  /** Where the call came from; only its principal may resume the stream. */
  readonly origin: Origin | undefined;
  /** Begins the response; undefined if other code has answered. */
  openEvents(): EventSink | undefined;
  /** Stops what runs, since nothing will read the reply. */
  abandon(): void;
}

/** Each event is a JSON-RPC message, and the response is the last. */
export const messages: EventForm = {
  notification: (method, params) =>
    requestText(
      params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params },
    ),
  ending: (reply) => (reply === undefined ? [] : [reply]),
};

/** Each item is a response of its own, and `[DONE]` comes last, as in the APIs of language models. */
export const plainItems: EventForm = {
  notification(method, params) {
    if (method !== "$/stream") return undefined;
    const { id, value, types } = params as { id: Id; value: unknown; types?: TypedPaths };
    const text = resultText("2.0", idText(id), valueText(value));
    return types === undefined ? text : typedText(text, types);
  },
  ending(reply, streamed) {
    return reply === undefined || isNeedless(reply, streamed) ? ["[DONE]"] : [reply, "[DONE]"];
  },
};

/** Each item is a response of its own, and the end of the stream is the end of the response, as A2A has it. */
export const itemResponses: EventForm = {
  notification: plainItems.notification,
  ending: (reply, streamed) => (reply === undefined || isNeedless(reply, streamed) ? [] : [reply]),
};

/** The result of a stream only says that it ended. */
function isNeedless(reply: string, streamed: boolean): boolean {
  return streamed && reply.startsWith('{"jsonrpc":"2.0","result":');
}

export interface EventSettings {
  readonly clock: Clock;
  /** Interval of keep-alive comments on a silent stream. */
  readonly keepAliveMs: number;
  /** Most unread bytes before the client is disconnected. */
  readonly maxBufferedBytes: number;
  /** Counts what all clients of the server have not read. */
  readonly buffers: WireBuffers;
  /** How long a call runs on after its client has disconnected. */
  readonly graceMs: number;
}

/** A caller that receives events while its call runs. */
export class EventPeer implements Peer, Buffering {
  readonly canNotify = true;
  grantUpload: Peer["grantUpload"] = undefined;
  readonly #host: EventHost;
  readonly #form: EventForm;
  readonly #settings: EventSettings;
  readonly #record: (() => Recording | undefined) | undefined;
  #recording: Recording | undefined;
  #sink: EventSink | undefined;
  #started = false;
  #over = false;
  #beat: Timer | undefined;
  #grace: Timer | undefined;
  #waiting: (() => void)[] | undefined;
  #closed: Promise<void> | undefined;
  #tellClosed: (() => void) | undefined;

  constructor(
    host: EventHost,
    form: EventForm,
    settings: EventSettings,
    record?: () => Recording | undefined,
  ) {
    this.#host = host;
    this.#form = form;
    this.#settings = settings;
    this.#record = record;
  }

  /** Whether the response has begun, so that it has to be events. */
  get started(): boolean {
    return this.#started;
  }

  /** Whether a client is connected. */
  get attached(): boolean {
    return this.#sink !== undefined;
  }

  get bufferedBytes(): number {
    return this.#sink?.bufferedBytes ?? 0;
  }

  shed(): void {
    this.abandon();
  }

  get closed(): Promise<void> {
    this.#closed ??= this.#over
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#tellClosed = resolve;
        });
    return this.#closed;
  }

  /** Begins the response, although there is no event yet. */
  open(): void {
    if (this.#started) return;
    this.#start();
    if (this.#recording === undefined) this.#sink?.flush();
  }

  /** Makes the recording only now: most calls send nothing before their reply. */
  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#recording = this.#record?.();
    if (this.#recording !== undefined) {
      this.#recording.peer = this;
      this.#recording.origin = this.#host.origin;
    }
    const sink = this.#host.openEvents();
    if (sink === undefined) {
      this.abandon();
      return;
    }
    this.#settings.buffers.opened(this);
    this.attach(sink);
    // The client can resume from here on, even before the first event.
    if (this.#recording !== undefined) this.#sink?.write(this.#recording.prelude(this.#form));
  }

  notify(method: string, params?: Params): boolean {
    if (this.#over) return false;
    const data = this.#form.notification(method, params);
    return data === undefined ? false : this.sendEvent(data);
  }

  /** Sends a message as it is; false if the client can no longer receive it. */
  sendEvent(data: string): boolean {
    if (this.#over) return false;
    this.#start();
    if (this.bufferedBytes > this.#settings.maxBufferedBytes) this.abandon();
    // Both calls above may have ended it.
    if (this.#isOver()) return false;
    this.#write(data);
    return true;
  }

  ready(): Promise<void> | undefined {
    if (this.#over || !this.#started) return undefined;
    if (this.#sink !== undefined) return this.#sink.ready();
    // The client may read it at another process.
    if (this.#recording?.copy !== undefined) return undefined;
    // Without a client the producer waits until one resumes the stream, or until it expires.
    return new Promise((resolve) => {
      this.#waiting ??= [];
      this.#waiting.push(resolve);
    });
  }

  /** Takes the reply if the response is events, or becomes so by `asEvents`; false leaves it to be sent as JSON. */
  settle(reply: string | undefined, asEvents: boolean, streamed: boolean): boolean {
    if (this.#started || asEvents) {
      this.#finish(reply, streamed);
      return true;
    }
    this.#dismiss();
    return false;
  }

  #finish(reply: string | undefined, streamed: boolean): void {
    if (this.#over) return;
    this.#start();
    if (this.#isOver()) return;
    for (const data of this.#form.ending(reply, streamed)) this.#write(data);
    this.#end();
    this.#recording?.finish();
    this.#sink?.end();
  }

  /** A client has connected or resumed; an older connection that is still attached is closed. */
  attach(sink: EventSink): void {
    const before = this.#sink;
    this.#sink = sink;
    before?.end();
    this.#grace?.cancel();
    this.#beat ??= this.#settings.clock.after(this.#settings.keepAliveMs, () => this.#keepAlive());
    this.#wake();
  }

  /** Ends the response if the client can resume the rest later. */
  release(): void {
    this.#start();
    if (this.#canResume) this.#sink?.end();
  }

  get #canResume(): boolean {
    return this.#recording?.isDropped === false;
  }

  /** The client has disconnected. If it can resume, the call runs on for a while. */
  detach(sink: EventSink): void {
    if (this.#sink !== sink || this.#over) return;
    this.#sink = undefined;
    this.#beat?.cancel();
    this.#beat = undefined;
    if (!this.#canResume) this.abandon();
    else this.#wait();
  }

  #wait(): void {
    this.#grace = this.#settings.clock.after(this.#settings.graceMs, () => {
      if (this.#recording?.copy?.isRead === true) this.#wait();
      else this.abandon();
    });
  }

  /** Disconnects the client and stops what runs for it. */
  abandon(): void {
    if (this.#over) return;
    this.#sink?.cut();
    this.#stop();
  }

  /** The same for a client that asked for it, so that its response ends properly. */
  letGo(): void {
    if (this.#over) return;
    this.#sink?.end();
    this.#stop();
  }

  #stop(): void {
    this.#dismiss();
    this.#host.abandon();
  }

  /** The reply is sent as JSON; later notifications are dropped. */
  #dismiss(): void {
    if (this.#over) return;
    this.#end();
    this.#recording?.drop();
  }

  call(): Promise<unknown> {
    return unreachablePeer.call("");
  }

  send(...args: Parameters<Link["send"]>): ReturnType<Link["send"]> {
    return unreachablePeer.send(...args);
  }

  sendBatch(...args: Parameters<Link["sendBatch"]>): ReturnType<Link["sendBatch"]> {
    return unreachablePeer.sendBatch(...args);
  }

  close(): Promise<void> {
    return unreachablePeer.close();
  }

  #isOver(): boolean {
    return this.#over;
  }

  #write(data: string): void {
    const event = this.#recording?.add(data) ?? eventText(data);
    this.#sink?.write(event);
    this.#settings.buffers.moved(event.length);
  }

  #keepAlive(): void {
    this.#beat = undefined;
    const sink = this.#sink;
    if (sink === undefined) return;
    if (!sink.full) sink.write(keepAliveText);
    this.#beat = this.#settings.clock.after(this.#settings.keepAliveMs, () => this.#keepAlive());
  }

  #end(): void {
    this.#over = true;
    if (this.#started) this.#settings.buffers.closed(this);
    this.#beat?.cancel();
    this.#grace?.cancel();
    this.#tellClosed?.();
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) for (const resolve of waiting) resolve();
  }
}
