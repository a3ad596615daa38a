import { type Clock, systemClock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { RpcError } from "../protocol/errors.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import type { Credential } from "./credential.ts";
import { overloaded, type Refusal, unauthenticated } from "./refusals.ts";

export interface TicketOptions {
  /** How long a ticket may take to be used. @default 30000 */
  readonly validMs?: number;
  /** Most tickets that are out at the same time; more are refused, so that they cannot fill memory. @default 10000 */
  readonly maxTickets?: number;
  /** Most of them that one principal has. @default 32 */
  readonly maxPerPrincipal?: number;
  /** The clock that decides whether a ticket has expired, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

interface Ticket {
  readonly principal: Principal;
  readonly expiresAt: number;
}

/** A page offers this subprotocol beside its ticket, and the server chooses it. */
const subprotocol = "callwire";
const prefix = "callwire.ticket.";
const bad = unauthenticated("a ticket that is not valid any more");

/**
 * What a page passes as `protocols` to open its WebSocket with a ticket.
 * @example
 * ```ts
 * import { ticketProtocols } from "callwire/security";
 * import { webSocketLink } from "callwire/ws";
 *
 * // In the page; the server has the method `ticket`.
 * const ticket = String(await client.call("ticket"));
 * const link = webSocketLink("/rpc", { protocols: ticketProtocols(ticket), reconnect: false });
 * ```
 */
export function ticketProtocols(ticket: string): string[] {
  // The server answers with the first, so that the ticket is not in the response.
  return [subprotocol, `${prefix}${ticket}`];
}

/**
 * Single-use tickets for the WebSockets of pages, which cannot send headers: a page asks for one by a
 * call that it makes with its usual credential. They work in the process that issued them.
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

  /** Makes a ticket for whoever makes this call: `method({}, (_, call) => tickets.issue(call))`. */
  issue({ principal }: Pick<Context, "principal">): string {
    if (principal === undefined) throw errorOf(unauthenticated("a ticket for nobody"));
    const { validMs, maxTickets, maxPerPrincipal, clock } = this.#options;
    this.#forgetExpired();
    const held = this.#held.get(principal.id) ?? 0;
    if (this.#tickets.size >= maxTickets || held >= maxPerPrincipal) {
      throw errorOf(overloaded("too many tickets are out"));
    }
    const ticket = base64url(crypto.getRandomValues(new Uint8Array(32)));
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
    // The oldest come first, and all are valid for the same time.
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

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
