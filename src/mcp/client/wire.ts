import type { Notices } from "../../connection/notices.ts";
import type { Link } from "../../protocol/link.ts";
import type { Log } from "../../protocol/log.ts";
import type { Peer } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";

/** A way to reach an MCP server. */
export interface McpWire {
  /** Whether requests have headers, so that arguments of tools may be sent as headers. */
  readonly hasHeaders: boolean;
  open(end: ClientEnd): McpLink;
}

export interface McpLink extends Link {
  /**
   * Set if the wire has a separate stream for notifications of the server: resolves when that is open,
   * or takes too long. Subscriptions wait for it.
   */
  readonly listening?: Promise<void> | undefined;
}

/** What a client passes to its wire. */
export interface ClientEnd {
  /** Handles requests and notifications of the server. */
  readonly service: Service;
  readonly log: Log;
  /** How the server reports progress and cancels its requests. */
  readonly notices: Notices;
  /** Call this when notifications of the server may have been missed. */
  gap(): void;
  /** Call this when the connection was lost, and is opened again. */
  lost(): void;
  /** Call this when the server no longer knows the session and no request has failed because of it. */
  forgotten(): void;
  /** Await this on each new connection before sending anything else. */
  greet(peer: Pick<Peer, "call" | "notify">): Promise<void>;
}
