import type { Clock, Timer } from "../protocol/clock.ts";
import { defaultReplayKeepMs } from "../protocol/defaults.ts";
import type { Origin } from "../protocol/origin.ts";
import type { EventPeer, EventSink } from "./event-peer.ts";
import { eventText } from "./event-stream.ts";

export interface ReplayOptions {
  /** Most events kept of a stream; a client that missed more cannot resume it. @default 1000 */
  readonly maxEvents?: number;
  /** Most characters kept of a stream; limits memory. @default 1 MiB */
  readonly maxLength?: number;
  /** Most characters kept of all streams; above it the oldest can no longer be resumed. Limits memory. @default 32 MiB */
  readonly maxTotalLength?: number;
  /** Most streams that can be resumed at the same time; further ones are sent without ids. @default 100 */
  readonly maxStreams?: number;
  /** How long a stream can still be resumed after its end. @default 60000 */
  readonly keepMs?: number;
}

/** The last events of streams, for clients whose connection broke. */
export class ReplayStore {
  readonly #recordings = new Map<string, Recording>();
  readonly #clock: Clock;
  readonly #limits: Required<ReplayOptions>;
  /** Characters kept of all streams. */
  #length = 0;

  constructor(clock: Clock, options: ReplayOptions = {}) {
    const {
      maxEvents = 1000,
      maxLength = 1024 * 1024,
      maxTotalLength = 32 * 1024 * 1024,
      maxStreams = 100,
      keepMs = defaultReplayKeepMs,
    } = options;
    this.#clock = clock;
    this.#limits = { maxEvents, maxLength, maxTotalLength, maxStreams, keepMs };
  }

  /**
   * Undefined if too many streams are open; the client must send the same credential to resume. `copy` makes a copy for
   * other processes.
   */
  record(
    credential: string | undefined,
    copy?: (key: string) => RecordingCopy | undefined,
  ): Recording | undefined {
    if (this.#recordings.size >= this.#limits.maxStreams) this.#oldestFinished()?.drop();
    if (this.#recordings.size >= this.#limits.maxStreams) return undefined;
    const key = crypto.randomUUID();
    const recording = new Recording(key, credential, this.#limits, {
      drop: () => void this.#recordings.delete(key),
      grew: (by) => this.#grew(by),
      later: (run) => this.#clock.after(this.#limits.keepMs, run),
    });
    recording.copy = copy?.(key);
    this.#recordings.set(key, recording);
    return recording;
  }

  /**
   * Finds the stream of an event id, and the number of that event. Undefined if the id is unknown or
   * belongs to another client.
   */
  find(
    eventId: string,
    credential: string | undefined,
  ): { readonly recording: Recording; readonly after: number } | undefined {
    const { key, after } = parseEventId(eventId);
    const recording = this.#recordings.get(key);
    if (recording === undefined || recording.credential !== credential) return undefined;
    return { recording, after };
  }

  #grew(by: number): void {
    this.#length += by;
    while (this.#length > this.#limits.maxTotalLength && this.#recordings.size > 0) {
      const [oldest] = this.#recordings.values();
      (this.#oldestFinished() ?? oldest)?.evict();
    }
  }

  #oldestFinished(): Recording | undefined {
    for (const recording of this.#recordings.values()) if (recording.finished) return recording;
    return undefined;
  }
}

/** The stream of an event, and the number of the event; an invalid id has an empty key. */
export function parseEventId(eventId: string): { readonly key: string; readonly after: number } {
  const [, key = "", digits = ""] = /^([\da-f-]{36})\.(\d{1,15})$/.exec(eventId) ?? [];
  return { key, after: Number(digits) };
}

/** The events of a stream where other processes can read them. */
export interface RecordingCopy {
  add(data: string): void;
  finish(): void;
  /** It can no longer be resumed. */
  drop(): void;
  /** Whether a client reads it at another process. */
  readonly isRead: boolean;
}

/** The store, as a recording sees it. */
interface Place {
  drop(): void;
  /** It keeps this many characters more; fewer if negative. */
  grew(by: number): void;
  later(run: () => void): Timer;
}

/** The last events of one stream. */
export class Recording {
  readonly credential: string | undefined;
  /** The peer that a resuming client is attached to. */
  peer: EventPeer | undefined = undefined;
  /** Where the call came from. */
  origin: Origin | undefined = undefined;
  copy: RecordingCopy | undefined = undefined;
  finished = false;
  /** From now on it cannot be resumed, even by a request that has found it, and keeps nothing. */
  isDropped = false;
  #owner: string | undefined;
  #mayCompress = true;
  readonly #key: string;
  readonly #limits: Required<ReplayOptions>;
  readonly #store: Place;
  readonly #events: string[] = [];
  #length = 0;
  /** The number of the first event that is kept. */
  #first = 1;
  #expiry: Timer | undefined;

  constructor(
    key: string,
    credential: string | undefined,
    limits: Required<ReplayOptions>,
    store: Place,
  ) {
    this.#key = key;
    this.credential = credential;
    this.#limits = limits;
    this.#store = store;
  }

  /** The id of the principal that made the call, if there is one. */
  get owner(): string | undefined {
    return this.origin === undefined ? this.#owner : this.origin.principal?.id;
  }

  /** Whether its method allows that it is compressed. */
  get mayCompress(): boolean {
    return this.origin === undefined ? this.#mayCompress : this.origin.mayCompress;
  }

  /** Comes before the first event: when to reconnect, and with which id. */
  prelude(form: { readonly primes?: boolean }): string {
    return `retry: 1000\nid: ${this.#key}.0\n${form.primes === true ? "data: \n" : ""}\n`;
  }

  /** Keeps an event and returns it as sent. */
  add(data: string): string {
    if (this.isDropped) return eventText(data);
    this.copy?.add(data);
    const before = this.#length;
    const event = eventText(data, `${this.#key}.${this.#first + this.#events.length}`);
    this.#events.push(event);
    this.#length += event.length;
    const { maxEvents, maxLength } = this.#limits;
    while (this.#events.length > maxEvents || this.#length > maxLength) {
      this.#length -= (this.#events.shift() as string).length;
      this.#first++;
    }
    this.#store.grew(this.#length - before);
    return event;
  }

  /** Whether everything after that event is still kept. */
  reaches(after: number): boolean {
    if (this.isDropped) return false;
    return after >= this.#first - 1 && after < this.#first + this.#events.length;
  }

  /** Sends what came after that event, and attaches the sink to the call if it still runs. */
  replay(after: number, sink: EventSink): void {
    for (const event of this.#events.slice(after - this.#first + 1)) sink.write(event);
    if (this.finished) sink.end();
    else this.peer?.attach(sink);
  }

  finish(): void {
    this.finished = true;
    // The request and what it refers to need not be kept as long as the events.
    this.#owner = this.owner;
    this.#mayCompress = this.mayCompress;
    this.origin = undefined;
    this.peer = undefined;
    if (this.isDropped) return;
    this.copy?.finish();
    this.#expiry = this.#store.later(() => this.drop());
  }

  /** The client will not resume it. */
  abandon(): void {
    this.peer?.letGo();
    this.drop();
  }

  /** Makes room for others. A client that is connected still gets the rest; without one, nothing can read it. */
  evict(): void {
    if (this.peer?.attached === false) this.abandon();
    else this.drop();
  }

  drop(): void {
    if (this.isDropped) return;
    this.isDropped = true;
    this.#expiry?.cancel();
    if (!this.finished) this.copy?.drop();
    this.#store.drop();
    this.#store.grew(-this.#length);
    this.#length = 0;
    this.#events.length = 0;
  }
}
