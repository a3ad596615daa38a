import { Pending } from "../../connection/pending.ts";
import { membersOf } from "../../protocol/envelope.ts";
import { isRpcError } from "../../protocol/errors.ts";
import { networkOf } from "../../protocol/network.ts";
import type { Peer } from "../../protocol/origin.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import { McpErrorCode } from "../errors.ts";
import { type LegacyRevision, latestLegacy } from "../revisions.ts";
import type { Caller } from "./operation.ts";

/** The session of a legacy client. Kept small: thousands may be idle. */
export class Session implements Caller {
  /** Empty if the connection is the session. */
  readonly id: string;
  /** The principal that owns it; no other principal may use it. */
  readonly principal: string | undefined;
  /** The principal or else the network that opened it, for a fair share of sessions. */
  readonly owner: string;
  revision: LegacyRevision = latestLegacy;
  capabilities: ClientCapabilities = {};
  info: Implementation | undefined = undefined;
  logLevel: LogLevel = "info";
  lastUsed = 0;
  /** When it began, if something observes how long sessions last, and it began in this process. */
  since: number | undefined = undefined;
  /** Number of its HTTP requests in progress. */
  running = 0;
  /** Reaches the client outside of its requests; over HTTP only while it listens. */
  peer: Peer | undefined = undefined;
  /** The resources that it subscribed to. */
  subscriptions: Set<string> | undefined = undefined;
  /** The ids of elicitations by URL that were sent to it. */
  pages: Set<string> | undefined = undefined;
  /** Whether it differs from what other processes know of it. */
  isChanged = false;
  /** Comes before the ids of requests to the client, where several processes send some. */
  requestPrefix: string | undefined = undefined;
  /** Requests to the client that await their answer, over HTTP. */
  #pending: Pending | undefined;
  /** The HTTP stream on which it listens outside of its requests. */
  listening: { readonly attached: boolean; abandon(): void } | undefined = undefined;

  constructor(id: string, principal?: string, address?: string) {
    this.id = id;
    this.principal = principal;
    this.owner = principal ?? networkOf(address ?? "");
  }

  get session(): Session {
    return this;
  }

  get isListening(): boolean {
    return this.listening?.attached === true;
  }

  /** Whether its client waits for something, and so is connected. */
  get isUsed(): boolean {
    return this.running > 0 || this.isListening;
  }

  get pending(): Pending {
    this.#pending ??= new Pending();
    return this.#pending;
  }

  end(error: Error): void {
    this.#pending?.fail(error);
    this.listening?.abandon();
    this.listening = undefined;
    this.peer = undefined;
  }
}

/** Most pages remembered per session; without a completion notification a client retries after a while. */
export const mostPages = 100;

/** Remembers which client was sent to a page, because only that client is notified of the completion. */
export function rememberPage(session: Session, elicitationId: string): void {
  const { pages = new Set() } = session;
  pages.add(elicitationId);
  const [oldest] = pages;
  if (pages.size > mostPages && oldest !== undefined) pages.delete(oldest);
  session.pages = pages;
  session.isChanged = true;
}

/** Remembers the pages in an error that requires them. */
export function rememberPagesOf(session: Session, error: unknown): void {
  if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) return;
  const { elicitations } = membersOf(error.data);
  for (const each of Array.isArray(elicitations) ? elicitations : []) {
    const { elicitationId } = membersOf(each);
    if (typeof elicitationId === "string") rememberPage(session, elicitationId);
  }
}
