import { base64Url } from "../protocol/base64.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { RpcError } from "../protocol/errors.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { overloaded, type Refusal, unauthenticated } from "./access-errors.ts";
import type { Credential } from "./credential.ts";

export interface TicketOptions {
  /** How long a ticket is valid. @default 30000 */
  readonly validMs?: number;
  /** Most unused tickets; stops them from filling memory. @default 10000 */
  readonly maxTickets?: number;
  /** Most unused tickets of one principal. @default 32 */
  readonly maxPerPrincipal?: number;
  /** Measures the age of tickets. @default the system clock */
  readonly clock?: Clock;
}

interface Ticket {
  readonly principal: Principal;
  readonly expiresAt: number;
}

/** A page offers this subprotocol and its ticket; the server selects this one. */
const subprotocol = "callwire";
const prefix = "callwire.ticket.";
const bad = unauthenticated("the ticket is invalid or has expired");

/**
 * The `protocols` with which a page opens its WebSocket.
 * @example
 * ```ts
 * import { ticketProtocols } from "callwire/security";
 * import { webSocketLink } from "callwire/ws";
 *
 * // In the page; the server has the method `ticket`.
 * const link = webSocketLink("/rpc", {
 *   protocols: async () => ticketProtocols(await client.call<string>("ticket")),
 * });
 * ```
 */
export function ticketProtocols(ticket: string): string[] {
  // The server selects the first, so the ticket is not in its response.
  return [subprotocol, `${prefix}${ticket}`];
}

/**
 * Single-use tickets for WebSockets in pages, which cannot send headers. A page gets one with a call
 * that has its usual credential. Tickets work only in the process that issued them.
 * @example
 * ```ts
 * import { createServer, method } from "callwire";
 * import { authenticate, bearer, WebSocketTickets } from "callwire/security";
 *
 * const sessions = new Map([["d2hhdCBhIHRva2Vu", { id: "ann" }]]);
 * const tickets = new WebSocketTickets();
 * const server = createServer(
 *   { ticket: method({}, (_params, call) => tickets.issue(call)) },
 *   { use: [authenticate([bearer((token) => sessions.get(token)), tickets])] },
 * );
 * ```
 */
export class WebSocketTickets implements Credential {
  readonly #tickets = new Map<string, Ticket>();
  readonly #held = new Map<string, number>();
  readonly #options: Required<TicketOptions>;

  constructor(options: TicketOptions = {}) {
    const { validMs = 30_000, maxTickets = 10_000, maxPerPrincipal = 32 } = options;
    this.#options = {
      validMs: limitOf("validMs", validMs),
      maxTickets: limitOf("maxTickets", maxTickets),
      maxPerPrincipal: limitOf("maxPerPrincipal", maxPerPrincipal),
      clock: options.clock ?? systemClock,
    };
  }

  /** Makes a ticket for the caller: `method({}, (_, call) => tickets.issue(call))`. */
  issue({ principal }: Pick<Context, "principal">): string {
    if (principal === undefined)
      throw errorOf(unauthenticated("a ticket for an unauthenticated caller"));
    const { validMs, maxTickets, maxPerPrincipal, clock } = this.#options;
    this.#forgetExpired();
    const held = this.#held.get(principal.id) ?? 0;
    if (this.#tickets.size >= maxTickets || held >= maxPerPrincipal) {
      throw errorOf(overloaded("too many tickets are open"));
    }
    const ticket = base64Url(crypto.getRandomValues(new Uint8Array(32)));
    this.#tickets.set(ticket, { principal, expiresAt: clock.elapsed() + validMs });
    this.#held.set(principal.id, held + 1);
    return ticket;
  }

  verify({ kind, headers }: Transport): Principal | Refusal | undefined {
    const offered = kind === "websocket" ? headers["sec-websocket-protocol"] : undefined;
    if (offered === undefined) return undefined;
    const entries = `${offered}`.split(",").map((entry) => entry.trim());
    const entry = entries.find((name) => name.startsWith(prefix));
    if (entry === undefined) return undefined;
    const key = entry.slice(prefix.length);
    const ticket = this.#tickets.get(key);
    if (ticket === undefined) return bad;
    this.#remove(key, ticket);
    return ticket.expiresAt > this.#options.clock.elapsed() ? ticket.principal : bad;
  }

  #forgetExpired(): void {
    const now = this.#options.clock.elapsed();
    // In order of creation, and all are valid for the same time.
    for (const [key, ticket] of this.#tickets) {
      if (ticket.expiresAt > now) return;
      this.#remove(key, ticket);
    }
  }

  #remove(key: string, { principal: { id } }: Ticket): void {
    this.#tickets.delete(key);
    const held = (this.#held.get(id) ?? 1) - 1;
    if (held === 0) this.#held.delete(id);
    else this.#held.set(id, held);
  }
}

function errorOf({ code, message, status, headers }: Refusal): RpcError {
  return new RpcError(code, message, undefined, {
    ...(status === undefined ? undefined : { status }),
    ...(headers === undefined ? undefined : { headers }),
  });
}
