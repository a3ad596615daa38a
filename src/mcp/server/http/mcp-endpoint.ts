import { corsHeaders, preflightHeaders } from "../../../http/cors.ts";
import type { EventSettings } from "../../../http/event-peer.ts";
import {
  type HttpMessage,
  type MessageLimits,
  messageLimits,
  type RequestHead,
} from "../../../http/http-message.ts";
import type { Refusal } from "../../../http/refusal.ts";
import { type ReplayOptions, ReplayStore } from "../../../http/replay.ts";
import type { Timer } from "../../../protocol/clock.ts";
import { defaultKeepAliveMs } from "../../../protocol/defaults.ts";
import { HostCheck, type HostCheckOptions } from "../../../protocol/host-check.ts";
import { limitOf } from "../../../protocol/limits.ts";
import { LinkedList } from "../../../protocol/linked-list.ts";
import {
  andThen,
  type ErrorObject,
  type Id,
  isThenable,
  type MaybePromise,
} from "../../../protocol/message.ts";
import type { Principal } from "../../../protocol/origin.ts";
import { callsWhere, dropCall } from "../../../protocol/origin-calls.ts";
import type { RunningCall } from "../../../protocol/running-call.ts";
import { isLegacy } from "../../revisions.ts";
import { reportEnd } from "../legacy.ts";
import type { McpServer } from "../mcp-server.ts";
import type { Session } from "../session.ts";
import {
  type Admission,
  Authorization,
  type AuthorizationOptions,
  admission,
} from "./authorization.ts";
import { listen } from "./get-stream.ts";
import { McpExchange } from "./mcp-exchange.ts";
import * as refusals from "./mcp-refusals.ts";
import { idleSessionMs, type SessionOptions, SessionTable } from "./session-table.ts";
import { type ForwardedMessage, SharedSessions } from "./shared-sessions.ts";
import type { McpHead } from "./standard-headers.ts";

export interface McpHttpOptions extends HostCheckOptions {
  /** Limits on sessions. @default see `SessionOptions` */
  readonly sessions?: SessionOptions;
  /** What is kept of streams, so that clients can resume them. @default 256 streams, and as `ReplayOptions` says */
  readonly replay?: ReplayOptions;
  /** Interval of keep-alive comments on a silent stream. @default 15000 */
  readonly keepAliveMs?: number;
  /** How long a call runs on after its client has disconnected, so that the client can resume. @default 300000 */
  readonly graceMs?: number;
  /** Requires tokens of OAuth 2.1. @default every client may call */
  readonly authorization?: AuthorizationOptions;
}

const allowed = "POST, GET, DELETE, OPTIONS";

/** MCP at one path of an HTTP server, for both eras. */
export class McpEndpoint {
  readonly server: McpServer;
  readonly sessions: SessionTable;
  /** The sessions of a fleet; undefined if this process is alone. */
  readonly shared: SharedSessions | undefined;
  readonly replay: ReplayStore;
  readonly events: EventSettings;
  readonly limits: MessageLimits;
  readonly #access: HostCheck;
  readonly #guards: boolean;
  readonly #authorization: Authorization | undefined;
  readonly #admission: Admission;
  readonly #open = new LinkedList<McpExchange>();
  /** How many of these a closing server waits for. */
  #calls = 0;
  readonly #idle: (() => void)[] = [];
  #ticker: Timer | undefined;
  #isClosed = false;

  /** `guards` says that Host and Origin were not checked before. */
  constructor(server: McpServer, options: McpHttpOptions, guards: boolean) {
    const { clock } = server.running;
    this.server = server;
    const { sessions: sessionOptions = {} } = options;
    this.sessions = new SessionTable(clock, sessionOptions, (session, isUnused) => {
      server.changes.removeSession(session);
      reportEnd(session, server.sessionReports, "http");
      for (const call of this.#callsOf(session)) call.drop();
      if (isUnused && !this.#isClosed) void this.shared?.forget(session).catch(() => {});
    });
    this.shared = this.#sharedBy(sessionOptions);
    this.replay = new ReplayStore(clock, { maxStreams: 256, ...options.replay });
    this.limits = messageLimits(server);
    this.events = {
      clock,
      keepAliveMs: options.keepAliveMs ?? defaultKeepAliveMs,
      graceMs: options.graceMs ?? 300_000,
      maxBufferedBytes: server.limits.maxBufferedBytes,
      buffers: server.running.buffers,
    };
    this.#access = new HostCheck(server, options);
    this.#guards = guards;
    this.#authorization =
      options.authorization === undefined ? undefined : new Authorization(options.authorization);
    this.#admission = admission(server, this.#authorization);
    server.onClose(() => {
      this.#isClosed = true;
      this.#ticker?.cancel();
      this.sessions.endAll();
      this.shared?.close();
    });
  }

  handle(message: HttpMessage): void {
    if (message.isAnswered) return;
    const { head } = message;
    const request = new McpExchange(this, message);
    const refused = this.#guards ? this.#access.refusal(head) : undefined;
    if (refused !== undefined) request.refuse(refusals.forbidden(refused));
    else if (head.method === "OPTIONS") request.refuse(this.#preflight(head));
    else this.#admission(message, request);
  }

  /** The session of a request, or a refusal. */
  findSession(head: McpHead, principal: Principal | undefined): MaybePromise<Session | Refusal> {
    const { sessionId, protocolVersion } = head;
    if (sessionId === undefined) return refusals.sessionMissing;
    const found = (this.shared ?? this.sessions).use(sessionId, principal?.id);
    return andThen(found, (session) => {
      if (session === undefined) return refusals.sessionGone;
      if (session === "full") return refusals.tooManySessions;
      return protocolVersion === undefined || isLegacy(protocolVersion)
        ? session
        : refusals.badRevision;
    });
  }

  /** Runs with the session of a request, or refuses the request. */
  withSession(request: McpExchange, run: (session: Session) => MaybePromise<void>): void {
    const found = andThen(this.findSession(request.head, request.principal), (session) =>
      "body" in session ? request.refuse(session) : run(session),
    );
    if (!isThenable(found)) return;
    found.then(undefined, (error: unknown) => {
      this.server.log.error({ err: error }, "a session could not be read or stored");
      request.refuse(refusals.storeFailed);
    });
  }

  /** Ends a call that the client of a session has cancelled; false if it does not run here. */
  cancel(session: Session, id: Id): boolean {
    const calls = this.#callsOf(session);
    if (!calls.some(({ context }) => context.id === id)) return false;
    dropCall(calls, id);
    return true;
  }

  /** The session has begun. */
  open(session: Session): void {
    session.since = this.server.sessionReports.begin();
    this.sessions.add(session);
    this.server.changes.addSession(session);
  }

  /** The call of this request continues after this turn of the event loop. */
  enter(exchange: McpExchange): void {
    this.#open.add(exchange);
    if (exchange.listens) this.shared?.updates.enter();
    else this.#calls++;
    if (exchange.session !== undefined) {
      exchange.session.running++;
      this.shared?.enter(exchange.session);
    }
    this.#ticker ??= this.#tickLater();
  }

  leave(exchange: McpExchange): void {
    this.#open.remove(exchange);
    if (exchange.listens) this.shared?.updates.leave();
    else if (--this.#calls === 0) for (const resolve of this.#idle.splice(0)) resolve();
    const { session } = exchange;
    if (session === undefined) return;
    session.running--;
    this.shared?.leave(session);
    this.sessions.use(session.id, session.principal);
  }

  /** Resolves when no call runs; requests that only listen do not count. */
  idle(): Promise<void> {
    return this.#calls === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Adds what a refused client needs to know to the headers of its reply. */
  challenge(
    status: number,
    error: ErrorObject | undefined,
    headers: Readonly<Record<string, string>> | undefined,
  ): Readonly<Record<string, string>> | undefined {
    return this.#authorization?.challenge(status, error, headers) ?? headers;
  }

  /** Handles a request whose principal is known. */
  route(request: McpExchange): void {
    const { method } = request.head.http;
    if (method === "POST") {
      request.read();
      return;
    }
    if (method !== "GET" && method !== "DELETE") {
      request.refuse(refusals.notAllowed(allowed));
      return;
    }
    // Clients without a session, such as those of the modern era, have nothing to get or to delete.
    if (request.head.sessionId === undefined) request.refuse(refusals.notAllowed("POST"));
    else
      this.withSession(request, (session) =>
        method === "GET" ? listen(this, session, request) : this.#delete(session, request),
      );
  }

  #delete(session: Session, request: McpExchange): MaybePromise<void> {
    return andThen(this.shared?.end(session), () => {
      this.sessions.end(session);
      request.exchange.send(204, "");
    });
  }

  #sharedBy({ store, idleMs = idleSessionMs }: SessionOptions): SharedSessions | undefined {
    if (store === undefined) return undefined;
    const { log, changes, running } = this.server;
    return new SharedSessions({
      store,
      clock: running.clock,
      log,
      idleMs: limitOf("sessions.idleMs", idleMs),
      sessions: this.sessions,
      changes,
      adopted: (session) => changes.addSession(session),
      received: (session, message) => this.#received(session, message),
    });
  }

  /** Another process of the fleet has received something for this one. */
  #received(session: Session, message: ForwardedMessage): void {
    if ("reply" in message) session.pending.settle(message.reply);
    else if ("cancel" in message) this.cancel(session, message.cancel);
    else this.sessions.end(session);
  }

  #callsOf(session: Session): RunningCall[] {
    return callsWhere(this.server.running, (origin) => origin.session === session);
  }

  #preflight(head: RequestHead): Refusal {
    const { origin } = head;
    const asked = head.get("access-control-request-headers");
    const cors = this.#access.allows(origin) ? preflightHeaders(origin, asked) : undefined;
    return { status: 204, body: "", headers: { allow: allowed, ...cors } };
  }

  /** Headers for pages of listed origins. */
  cors(origin: string): Record<string, string> | undefined {
    return this.#access.allows(origin)
      ? { ...corsHeaders(origin), "access-control-expose-headers": "mcp-session-id" }
      : undefined;
  }

  #tickLater(): Timer {
    return this.events.clock.after(this.events.keepAliveMs, () => {
      for (const exchange of this.#open.list()) exchange.tick();
      this.#ticker = this.#open.size === 0 ? undefined : this.#tickLater();
    });
  }
}
