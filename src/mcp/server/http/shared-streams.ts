import { upstreamFailure } from "../../../gateway/failures.ts";
import type { EventSink } from "../../../http/event-peer.ts";
import { eventText } from "../../../http/event-stream.ts";
import type { RecordingCopy } from "../../../http/replay.ts";
import { systemClock } from "../../../protocol/clock.ts";
import { defaultReplayKeepMs } from "../../../protocol/defaults.ts";
import { WireError } from "../../../protocol/errors.ts";
import type { Id } from "../../../protocol/message.ts";
import { errorText } from "../../../protocol/reply-text.ts";
import { idText } from "../../../protocol/serialize.ts";
import { pause } from "../../../protocol/waiting.ts";
import type { LiveWork, WorkChange } from "../../../work/live-work.ts";
import type { WorkRecord } from "../../../work/work-store.ts";
import type { WorkTable } from "../../../work/work-table.ts";

/** The last events of a stream, as they are stored. */
export interface StreamBody {
  readonly kind: "stream";
  /** The number of the first event that is stored. */
  readonly first: number;
  readonly events: readonly string[];
  /** The request that it replies to. */
  readonly request?: Id | undefined;
  /** Whether it is what a session listens on, and so has no end of its own. */
  readonly listens: boolean;
  /** When a client last read it at another process, in milliseconds since the epoch. */
  readonly readAt?: number | undefined;
}

export type StreamRecord = WorkRecord<StreamBody>;

const { code, message, data } = upstreamFailure(new WireError("CONNECTION_LOST", ""));
/** The reply to a call whose process has stopped: it may have run. */
const lostCall = { code, message, data };

/** What is stored of a stream, in events and characters; it is written again with each event. */
const mostEvents = 100;
const longestEvents = 128 * 1024;
/** How long it may take to store an event, and how often it is looked for. */
const storingMs = 100;
const mostReads = 6;
/** How often a process that reads a stream says so, and how long that holds. */
const readingMs = 30_000;
const readForMs = 3 * readingMs;

/** The streams of sessions, where each process of a fleet can read them. */
export class SharedStreams {
  readonly #table: WorkTable<StreamBody>;
  readonly #now: () => number;

  constructor(table: WorkTable<StreamBody>, now: () => number) {
    this.#table = table;
    this.#now = now;
  }

  /** Copies the events of a stream of this process. */
  copy(
    key: string,
    session: string,
    { request, listens }: Pick<StreamBody, "request" | "listens">,
  ): RecordingCopy {
    const first: StreamRecord = {
      id: idOf(key),
      owner: ownerOf(session),
      group: "stream",
      state: "open",
      phase: "active",
      version: 1,
      changedAt: this.#now(),
      ttlMs: 24 * 3_600_000,
      bytes: longestEvents,
      body: { kind: "stream", first: 1, events: [], request, listens },
    };
    return new StreamCopy(this.#table.admit(first), this.#now);
  }

  /**
   * The stream when that event is stored: its client gets the event a little earlier. What a session listens on is read
   * twice, because this process continues it, and its last events may be on their way to the store.
   */
  async find(key: string, session: string, after: number): Promise<StreamRecord | undefined> {
    for (let reads = 1; ; reads++) {
      const record = await this.#table.find(idOf(key), ownerOf(session));
      if (record?.phase === "over" || reads === mostReads) return record;
      const isStored = record !== undefined && after <= lastOf(record);
      if (isStored && (reads > 1 || !record.body.listens)) return record;
      await pause(storingMs, systemClock);
    }
  }

  /** Sends the rest of a stream to a client, as another process continues it. */
  follow(key: string, record: StreamRecord, after: number, sink: EventSink): () => void {
    let sent = after;
    let readAt = 0;
    const send = (next: StreamRecord): void => {
      for (const [i, data] of next.body.events.entries()) {
        const number = next.body.first + i;
        if (number <= sent) continue;
        sent = number;
        sink.write(eventText(data, `${key}.${number}`));
      }
      if (next.phase === "over") sink.end();
    };
    send(record);
    if (record.phase === "over") return () => {};
    const reading = (): void => {
      const now = this.#now();
      if (now - readAt < readingMs) return;
      readAt = now;
      const told = this.#table.change(record.id, record.owner, (before) =>
        before.phase === "over" ? undefined : next(before, { readAt: now }),
      );
      told.catch(() => {});
    };
    reading();
    return this.#table.follow(record.id, record, (changed) => {
      if (changed === undefined) sink.end();
      else {
        send(changed);
        if (changed.phase !== "over") reading();
      }
    });
  }
}

/** Whether everything after that event is still stored. */
export function reaches(record: StreamRecord, after: number): boolean {
  return after >= record.body.first - 1 && after <= lastOf(record);
}

/** The number of the last event. */
function lastOf({ body }: StreamRecord): number {
  return body.first + body.events.length - 1;
}

/** Ends a stream whose process has stopped. */
export function endLostStream(record: StreamRecord): WorkChange<StreamBody, never> {
  const { request, events, listens } = record.body;
  const lost =
    request === undefined || listens ? [] : [errorText("2.0", idText(request), lostCall)];
  return next(record, { events: [...events, ...lost] }, "over");
}

function next(
  record: StreamRecord,
  change: Partial<StreamBody>,
  phase = record.phase,
): WorkChange<StreamBody, never> {
  const ending = phase === "over" ? { state: "over", ttlMs: defaultReplayKeepMs } : {};
  const body = { ...record.body, ...change };
  return { record: { ...record, ...ending, phase, version: record.version + 1, body } };
}

function idOf(key: string): string {
  return `mcp-stream.${key}`;
}

function ownerOf(session: string): string {
  return JSON.stringify(["mcp", "stream", session]);
}

/** Stores the events of a stream; those that come while some are being stored are stored together. */
class StreamCopy implements RecordingCopy {
  readonly #work: LiveWork<StreamBody>;
  readonly #now: () => number;
  #unsaved: string[] = [];
  #isFinished = false;
  #saving = false;

  constructor(work: LiveWork<StreamBody>, now: () => number) {
    this.#work = work;
    this.#now = now;
    this.#save();
  }

  get isRead(): boolean {
    return (this.#work.record?.body.readAt ?? 0) > this.#now() - readForMs;
  }

  add(data: string): void {
    this.#unsaved.push(data);
    this.#save();
  }

  finish(): void {
    this.#isFinished = true;
    this.#save();
  }

  drop(): void {
    // Another process may read it, up to the last event.
    this.finish();
  }

  #save(): void {
    if (this.#saving) return;
    this.#saving = true;
    // A store that is down must not stop the call, whose client is probably still connected.
    this.#saveAll()
      .catch(() => this.#work.release())
      .finally(() => {
        this.#saving = false;
      });
  }

  async #saveAll(): Promise<void> {
    await this.#work.begin();
    while (!this.#work.isOver && (this.#unsaved.length > 0 || this.#isFinished)) {
      const added = this.#unsaved;
      this.#unsaved = [];
      const phase = this.#isFinished ? "over" : "active";
      await this.#work.amend((record) => next(record, kept(record.body, added), phase));
    }
    if (this.#work.isOver) this.#work.release();
  }
}

/** The events with those that were added, within the limits. */
function kept(
  { first, events }: StreamBody,
  added: readonly string[],
): Pick<StreamBody, "first" | "events"> {
  const all = [...events, ...added];
  let length = 0;
  let from = all.length;
  while (from > 0 && all.length - from < mostEvents) {
    length += (all[from - 1] as string).length;
    if (length > longestEvents) break;
    from--;
  }
  return { first: first + from, events: all.slice(from) };
}
