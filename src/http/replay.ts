import type { Clock, Timer } from "../protocol/clock.ts";
import type { Origin } from "../protocol/origin.ts";
import type { EventPeer, EventSink } from "./event-peer.ts";
import { eventText } from "./event-stream.ts";

export interface ReplayOptions {
  /** Most events kept of a stream; a reader that missed more cannot go on. @default 1000 */
  readonly maxEvents?: number;
  /** Most characters kept of a stream. @default 1 MiB */
  readonly maxLength?: number;
  /** Most streams that can be resumed; those beyond are sent without ids. @default 100 */
  readonly maxStreams?: number;
  /** How long a stream can be read again after its end. @default 60000 */
  readonly keepMs?: number;
}

/** The last events of streams, for readers whose connection broke. */
export class ReplayStore {
  readonly #recordings = new Map<string, Recording>();
  readonly #clock: Clock;
  readonly #limits: Required<ReplayOptions>;

  constructor(clock: Clock, options: ReplayOptions = {}) {
    const {
      maxEvents = 1000,
      maxLength = 1024 * 1024,
      maxStreams = 100,
      keepMs = 60_000,
    } = options;
    this.#clock = clock;
    this.#limits = { maxEvents, maxLength, maxStreams, keepMs };
  }

  /** Undefined when too many streams are open; the credential is what the reader must show again. */
  record(credential: string | undefined): Recording | undefined {
    if (this.#recordings.size >= this.#limits.maxStreams) this.#dropOldestFinished();
    if (this.#recordings.size >= this.#limits.maxStreams) return undefined;
    const key = crypto.randomUUID();
    const recording = new Recording(key, credential, this.#limits, {
      drop: () => void this.#recordings.delete(key),
      later: (run) => this.#clock.after(this.#limits.keepMs, run),
    });
    this.#recordings.set(key, recording);
    return recording;
  }

  /**
   * The stream that an event id comes from, and the number of that event. Undefined for ids that were
   * never given or were given to somebody else.
   */
  find(
    eventId: string,
    credential: string | undefined,
  ): { readonly recording: Recording; readonly after: number } | undefined {
    const [, key = "", digits = ""] = /^([\da-f-]{36})\.(\d{1,15})$/.exec(eventId) ?? [];
    const recording = this.#recordings.get(key);
    if (recording === undefined || recording.credential !== credential) return undefined;
    return { recording, after: Number(digits) };
  }

  #dropOldestFinished(): void {
    for (const recording of this.#recordings.values()) {
      if (!recording.finished) continue;
      recording.drop();
      return;
    }
  }
}

/** Where a recording is kept. */
interface Place {
  drop(): void;
  later(run: () => void): Timer;
}

/** The last events of one stream. */
export class Recording {
  readonly credential: string | undefined;
  /** Whom a reader that comes back listens to. */
  peer: EventPeer | undefined = undefined;
  /** Where the call came from. */
  origin: Origin | undefined = undefined;
  finished = false;
  /** Whoever found it before finds that it reaches nowhere. */
  #dropped = false;
  #owner: string | undefined;
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

  /** Who made the call, where somebody was known to. */
  get owner(): string | undefined {
    return this.origin === undefined ? this.#owner : this.origin.principal?.id;
  }

  /** Comes before the first event: how soon to come back, and with which id. */
  prelude(form: { readonly primes?: boolean }): string {
    return `retry: 1000\nid: ${this.#key}.0\n${form.primes === true ? "data: \n" : ""}\n`;
  }

  /** Keeps an event and gives its text. */
  add(data: string): string {
    const event = eventText(data, `${this.#key}.${this.#first + this.#events.length}`);
    this.#events.push(event);
    this.#length += event.length;
    const { maxEvents, maxLength } = this.#limits;
    while (this.#events.length > maxEvents || this.#length > maxLength) {
      this.#length -= (this.#events.shift() as string).length;
      this.#first++;
    }
    return event;
  }

  /** Whether everything after that event is still here. */
  reaches(after: number): boolean {
    if (this.#dropped) return false;
    return after >= this.#first - 1 && after < this.#first + this.#events.length;
  }

  /** Sends what came after that event, and leaves the sink with the call if it still runs. */
  replay(after: number, sink: EventSink): void {
    for (const event of this.#events.slice(after - this.#first + 1)) sink.write(event);
    if (this.finished) sink.end();
    else this.peer?.attach(sink);
  }

  finish(): void {
    this.finished = true;
    // The request and all that hangs on it need not be kept as long as the events.
    this.#owner = this.owner;
    this.origin = undefined;
    this.peer = undefined;
    this.#expiry = this.#store.later(() => this.drop());
  }

  /** Its reader will not come back. */
  abandon(): void {
    this.peer?.letGo();
    this.drop();
  }

  drop(): void {
    this.#dropped = true;
    // Else it would keep the events in memory that had to make place for others.
    this.#expiry?.cancel();
    this.#store.drop();
  }
}
