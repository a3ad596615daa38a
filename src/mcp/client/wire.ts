import type { Notices } from "../../connection/notices.ts";
import type { Link } from "../../protocol/link.ts";
import type { Log } from "../../protocol/log.ts";
import type { Peer } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";

/** A way to an MCP server. The client opens it with what answers the server's own requests. */
export interface McpWire {
  /** Whether requests have headers, so that params of tools may travel as such. */
  readonly hasHeaders: boolean;
  open(end: ClientEnd): McpLink;
}

export interface McpLink extends Link {
  /**
   * Where what a server says outside of requests comes on a stream of its own: resolves when that is
   * open, or does not open in good time. Whoever asks to be told of something waits for it.
   */
  readonly listening?: Promise<void> | undefined;
}

/** The client, as its wire sees it. */
export interface ClientEnd {
  /** Answers what the server asks, and hears what it tells. */
  readonly service: Service;
  readonly log: Log;
  /** How the server reports progress and takes back what it asked. */
  readonly notices: Notices;
  /** To be called when something that the server said by itself may have been missed. */
  gap(): void;
  /** To be called when the server does not know the session any more, and no request has met with that. */
  forgotten(): void;
  /** To be awaited on each new connection before anything else goes out on it. */
  greet(peer: Pick<Peer, "call" | "notify">): Promise<void>;
}
