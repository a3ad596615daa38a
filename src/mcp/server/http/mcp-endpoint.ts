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
import { LinkedList } from "../../../protocol/linked-list.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import type { Principal } from "../../../protocol/origin.ts";
import { callsWhere } from "../../../protocol/origin-calls.ts";
import { isLegacy } from "../../revisions.ts";
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
import { type SessionOptions, SessionTable } from "./session-table.ts";
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

  /** `guards` says that Host and Origin were not checked before. */
  constructor(server: McpServer, options: McpHttpOptions, guards: boolean) {
    const { clock } = server.running;
    this.server = server;
    this.sessions = new SessionTable(clock, options.sessions ?? {}, (session) => {
      server.changes.removeSession(session);
      for (const call of callsWhere(server.running, (origin) => origin.session === session))
        call.drop();
    });
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
      this.#ticker?.cancel();
      this.sessions.endAll();
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
  findSession(head: McpHead, principal: Principal | undefined): Session | Refusal {
    const { sessionId, protocolVersion } = head;
    if (sessionId === undefined) return refusals.sessionMissing;
    const session = this.sessions.use(sessionId, principal?.id);
    if (session === undefined) return refusals.sessionGone;
    return protocolVersion === undefined || isLegacy(protocolVersion)
      ? session
      : refusals.badRevision;
  }

  /** The session has begun. */
  open(session: Session): void {
    this.sessions.add(session);
    this.server.changes.addSession(session);
  }

  /** The call of this request goes on after this turn of the event loop. */
  enter(exchange: McpExchange): void {
    this.#open.add(exchange);
    if (!exchange.listens) this.#calls++;
    if (exchange.session !== undefined) exchange.session.running++;
    this.#ticker ??= this.#tickLater();
  }

  leave(exchange: McpExchange): void {
    this.#open.remove(exchange);
    if (!exchange.listens && --this.#calls === 0)
      for (const resolve of this.#idle.splice(0)) resolve();
    const { session } = exchange;
    if (session === undefined) return;
    session.running--;
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
    const session = this.#sessionOrNone(request);
    if ("body" in session) request.refuse(session);
    else if (method === "GET") listen(this, session, request);
    else {
      this.sessions.end(session);
      request.exchange.send(204, "");
    }
  }

  /** Clients without a session, such as those of the modern era, have nothing to get or to delete. */
  #sessionOrNone({ head, principal }: McpExchange): Session | Refusal {
    return head.sessionId === undefined
      ? refusals.notAllowed("POST")
      : this.findSession(head, principal);
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
