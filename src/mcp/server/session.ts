import { Pending } from "../../connection/pending.ts";
import { isRpcError } from "../../protocol/errors.ts";
import type { Peer } from "../../protocol/origin.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import { McpErrorCode } from "../errors.ts";
import { isRecord } from "../record.ts";
import { type LegacyRevision, latestLegacy } from "../revisions.ts";
import type { Caller } from "./operation.ts";

/** One client of the legacy era, from `initialize` to its end. Kept small: thousands may be idle. */
export class Session implements Caller {
  /** Empty where the wire itself is the session. */
  readonly id: string;
  /** Whose it is; nobody else may use it. */
  readonly principal: string | undefined;
  /** Who opened it, by name or else by address, to share room fairly. */
  readonly owner: string;
  revision: LegacyRevision = latestLegacy;
  capabilities: ClientCapabilities = {};
  info: Implementation | undefined = undefined;
  logLevel: LogLevel = "info";
  lastUsed = 0;
  /** How many of its requests are being answered, over HTTP. */
  running = 0;
  /** How to reach the client outside of its requests; over HTTP only while it listens. */
  peer: Peer | undefined = undefined;
  /** The resources whose changes it wants to hear of. */
  subscriptions: Set<string> | undefined = undefined;
  /** The pages that its user was sent to, by the id of the question. */
  pages: Set<string> | undefined = undefined;
  /** Requests to the client that await their answer, where the wire does not keep them. */
  #pending: Pending | undefined;
  /** The stream on which it listens outside of its requests, over HTTP. */
  listening: { readonly attached: boolean; abandon(): void } | undefined = undefined;

  constructor(id: string, principal?: string, address?: string) {
    this.id = id;
    this.principal = principal;
    this.owner = principal ?? address ?? "";
  }

  get session(): Session {
    return this;
  }

  get isListening(): boolean {
    return this.listening?.attached === true;
  }

  /** Whether its client waits for something, and so is there. */
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

/** The oldest is forgotten first; a client that hears nothing of it tries again after a while. */
const mostPages = 100;

/** Keeps to which page a client was told to send its user: no other hears that the visit is over. */
export function rememberPage(session: Session, elicitationId: string): void {
  const { pages = new Set() } = session;
  pages.add(elicitationId);
  const [oldest] = pages;
  if (pages.size > mostPages && oldest !== undefined) pages.delete(oldest);
  session.pages = pages;
}

/** The same for those of an error that asks for visits before anything else. */
export function rememberPagesOf(session: Session, error: unknown): void {
  if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) return;
  const { elicitations } = isRecord(error.data) ? error.data : {};
  for (const each of Array.isArray(elicitations) ? elicitations : []) {
    const { elicitationId } = isRecord(each) ? each : {};
    if (typeof elicitationId === "string") rememberPage(session, elicitationId);
  }
}
