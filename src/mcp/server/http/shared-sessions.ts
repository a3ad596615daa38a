import type { RecordingCopy } from "../../../http/replay.ts";
import type { Clock } from "../../../protocol/clock.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import type { Log } from "../../../protocol/log.ts";
import type { Id } from "../../../protocol/message.ts";
import type { WorkRecord, WorkStore } from "../../../work/work-store.ts";
import { WorkTable } from "../../../work/work-table.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../capabilities.ts";
import type { LegacyRevision } from "../../revisions.ts";
import type { Changes } from "../changes.ts";
import { mostPages, Session } from "../session.ts";
import { type SessionTable, unusedMs } from "./session-table.ts";
import {
  endLostStream,
  SharedStreams,
  type StreamBody,
  type StreamRecord,
} from "./shared-streams.ts";
import { SharedUpdates, type UpdatesBody } from "./shared-updates.ts";

/** What a process received from a client on behalf of the process that waits for it. */
export type ForwardedMessage =
  | { readonly reply: Envelope }
  | { readonly cancel: Id }
  | { readonly ended: true };

/** What requests change of a session. */
interface SessionState {
  readonly logLevel: LogLevel;
  readonly subscriptions: readonly string[];
  readonly pages: readonly string[];
}

/** A session as it is stored. */
interface SessionBody extends SessionState {
  readonly kind: "session";
  readonly principal?: string | undefined;
  readonly address: string;
  readonly revision: LegacyRevision;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  /** When its time to live was last extended, in milliseconds since the epoch; undefined before its first use. */
  readonly usedAt?: number | undefined;
  /** How many messages have been passed on; the last ones are `forwarded`. */
  readonly count: number;
  readonly forwarded: readonly ForwardedMessage[];
}

type SessionRecord = WorkRecord<SessionBody>;
type Body = SessionBody | StreamBody | UpdatesBody;

export interface SharedSessionSettings {
  readonly store: WorkStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly idleMs: number;
  readonly sessions: SessionTable;
  readonly changes: Changes;
  /** This process has not seen the session before. */
  adopted(session: Session): void;
  /** Passes on what another process has received. */
  received(session: Session, message: ForwardedMessage): void;
}

/** A message is read within a fraction of a second; older ones are dropped. */
const mostForwarded = 100;
const endedMs = 60_000;
const idForm = /^[\da-f-]{36}$/;
const owner = JSON.stringify(["mcp", "session"]);

/**
 * The sessions of a fleet. The store has what a session is, and each process what it does for the session at the moment:
 * running calls, open streams, requests to the client.
 */
export class SharedSessions {
  readonly #settings: SharedSessionSettings;
  readonly #table: WorkTable<Body>;
  readonly streams: SharedStreams;
  readonly updates: SharedUpdates;
  /** Messages that this process has read, or that were stored before it knew the session. */
  readonly #read = new WeakMap<Session, number>();
  /** The state as it was stored last, to find out what a request has changed. */
  readonly #stored = new WeakMap<Session, SessionState>();
  readonly #followed = new Map<Session, { count: number; stop(): void }>();
  /** Requests to clients have ids that name the process. */
  readonly #prefix = `${crypto.randomUUID()}.`;

  constructor(settings: SharedSessionSettings) {
    this.#settings = settings;
    const { store, clock, log, changes } = settings;
    this.#table = new WorkTable<Body>({
      store,
      clock,
      log,
      maxRunning: 10_000,
      // Only streams are active, and so can be lost.
      abandoned: (record) => endLostStream(record as StreamRecord),
    });
    const now = (): number => clock.now();
    this.streams = new SharedStreams(this.#table as unknown as WorkTable<StreamBody>, now);
    this.updates = new SharedUpdates({
      store,
      table: this.#table as unknown as WorkTable<UpdatesBody>,
      now,
      from: this.#prefix,
      deliver: (item) => changes.deliver(item),
      failed: (error) => log.warn({ err: error }, "could not share a change with other processes"),
    });
    changes.publish = (item) => this.updates.publish(item);
  }

  /** Stores a new session. */
  async create(session: Session): Promise<void> {
    const { store, clock, idleMs } = this.#settings;
    const state = stateOf(session);
    session.isChanged = false;
    session.requestPrefix = this.#prefix;
    this.#read.set(session, 0);
    this.#stored.set(session, state);
    const body: SessionBody = {
      kind: "session",
      principal: session.principal,
      address: session.owner,
      revision: session.revision,
      capabilities: session.capabilities,
      info: session.info,
      ...state,
      count: 0,
      forwarded: [],
    };
    await store.save({
      id: idOf(session.id),
      owner,
      group: "session",
      state: "open",
      phase: "waiting",
      version: 1,
      changedAt: clock.now(),
      ttlMs: Math.min(unusedMs, idleMs),
      bytes: 2 * JSON.stringify(body).length,
      body,
    });
  }

  /** The session as it is now; undefined if there is none, or it belongs to another principal. */
  async use(id: string, principal: string | undefined): Promise<Session | "full" | undefined> {
    const { sessions } = this.#settings;
    const record = idForm.test(id) ? await this.#find(id) : undefined;
    const known = sessions.get(id);
    if (record === undefined) {
      if (known !== undefined) sessions.end(known);
      return undefined;
    }
    if (record.body.principal !== principal) return undefined;
    if (known === undefined && !sessions.hasRoom) return "full";
    const session = known ?? this.#adopt(id, record);
    this.#take(session, record);
    sessions.use(id, principal);
    this.#renew(session, record.body);
    return session;
  }

  /** Stores what a request has changed, and keeps what other processes have changed meanwhile. */
  async store(session: Session): Promise<void> {
    while (session.isChanged) {
      const state = stateOf(session);
      const before = this.#stored.get(session) ?? state;
      await this.#change(session, (body) => ({ ...body, ...merged(body, before, state) }));
      this.#stored.set(session, state);
      session.isChanged = JSON.stringify(stateOf(session)) !== JSON.stringify(state);
    }
  }

  /** Passes on what another process waits for. */
  async forward(session: Session, message: ForwardedMessage): Promise<void> {
    await this.#change(session, (body) => ({
      ...body,
      count: body.count + 1,
      forwarded: [...body.forwarded, message].slice(-mostForwarded),
    }));
  }

  /** Whether this process sent the request that a reply is for. */
  isOwn({ id }: Envelope): boolean {
    return typeof id === "string" && id.startsWith(this.#prefix);
  }

  async end(session: Session): Promise<void> {
    await this.forward(session, { ended: true });
    await this.#table.change(idOf(session.id), owner, (record) => ({
      record: {
        ...record,
        state: "over",
        phase: "over",
        version: record.version + 1,
        ttlMs: endedMs,
      },
    }));
  }

  /** A session that this process has ended, unused, is not kept for others, unless they use it. */
  async forget(session: Session): Promise<void> {
    const record = await this.#find(session.id);
    if (record !== undefined && record.body.usedAt === undefined)
      await this.#table.remove(record.id);
  }

  /** Reads messages as long as this process does something for the session. */
  enter(session: Session): void {
    const followed = this.#followed.get(session);
    if (followed !== undefined) {
      followed.count++;
      return;
    }
    const id = idOf(session.id);
    const stop = this.#table.follow(id, undefined, (record) => {
      if (record?.body.kind === "session") this.#take(session, record as SessionRecord);
    });
    this.#followed.set(session, { count: 1, stop });
  }

  leave(session: Session): void {
    const followed = this.#followed.get(session);
    if (followed === undefined || --followed.count > 0) return;
    followed.stop();
    this.#followed.delete(session);
  }

  /** A copy of a stream for other processes; undefined if there are too many. */
  copy(
    key: string,
    session: Session,
    request: Id | undefined,
    listens: boolean,
  ): RecordingCopy | undefined {
    try {
      return this.streams.copy(key, session.id, { request, listens });
    } catch {
      return undefined;
    }
  }

  close(): void {
    this.#table.close();
  }

  async #find(id: string): Promise<SessionRecord | undefined> {
    const record = await this.#table.find(idOf(id), owner);
    return record === undefined || record.phase === "over" ? undefined : (record as SessionRecord);
  }

  #adopt(id: string, { body }: SessionRecord): Session {
    const session = new Session(id, body.principal, body.address);
    session.requestPrefix = this.#prefix;
    session.revision = body.revision;
    session.capabilities = body.capabilities;
    session.info = body.info;
    // What came before was for others.
    this.#read.set(session, body.count);
    this.#settings.sessions.add(session);
    this.#settings.adopted(session);
    return session;
  }

  /** Takes over the state of a session, unless a request is about to change it, and reads its messages. */
  #take(session: Session, { body, phase }: SessionRecord): void {
    if (!session.isChanged) {
      session.logLevel = body.logLevel;
      if (body.pages.length > 0) session.pages = new Set(body.pages);
      this.#settings.changes.replaceSubscriptions(session, body.subscriptions);
      this.#stored.set(session, body);
    }
    const read = this.#read.get(session) ?? body.count;
    this.#read.set(session, body.count);
    const unread = Math.min(body.count - read, body.forwarded.length);
    if (unread > 0)
      for (const message of body.forwarded.slice(-unread))
        this.#settings.received(session, message);
    if (phase === "over") this.#settings.sessions.end(session);
  }

  /** Extends its time to live, but not with each request. */
  #renew(session: Session, { usedAt }: SessionBody): void {
    const { clock, log, idleMs } = this.#settings;
    const now = clock.now();
    if (usedAt !== undefined && now - usedAt < Math.min(60_000, idleMs / 4)) return;
    this.#change(session, (body) => ({ ...body, usedAt: now })).catch((error: unknown) => {
      log.warn({ err: error }, "could not extend the lifetime of a session");
    });
  }

  async #change(session: Session, make: (body: SessionBody) => SessionBody): Promise<void> {
    const { idleMs } = this.#settings;
    await this.#table.change(idOf(session.id), owner, (record) => {
      if (record.phase === "over") return undefined;
      const body = make(record.body as SessionBody);
      const bytes = 2 * JSON.stringify(body).length;
      return { record: { ...record, version: record.version + 1, ttlMs: idleMs, bytes, body } };
    });
  }
}

function stateOf({
  logLevel,
  subscriptions = new Set(),
  pages = new Set(),
}: Session): SessionState {
  return { logLevel, subscriptions: [...subscriptions], pages: [...pages] };
}

/** The stored state with the changes from `before` to `after`. */
function merged(stored: SessionState, before: SessionState, after: SessionState): SessionState {
  const added = (list: "subscriptions" | "pages"): string[] =>
    after[list].filter((each) => !before[list].includes(each));
  const isRemoved = (uri: string): boolean =>
    before.subscriptions.includes(uri) && !after.subscriptions.includes(uri);
  const subscriptions = stored.subscriptions.filter((uri) => !isRemoved(uri));
  return {
    logLevel: after.logLevel === before.logLevel ? stored.logLevel : after.logLevel,
    subscriptions: [...new Set([...subscriptions, ...added("subscriptions")])],
    pages: [...new Set([...stored.pages, ...added("pages")])].slice(-mostPages),
  };
}

function idOf(sessionId: string): string {
  return `mcp-session.${sessionId}`;
}
