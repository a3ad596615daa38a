import type { A2aAgent } from "./a2a-agent.ts";

/** Where clients look for the card. */
export const cardPath = "/.well-known/agent-card.json";

/** A request for the card. */
export interface CardRequest {
  readonly method: string | undefined;
  /** The address of the agent as this client sees it. */
  readonly url: string;
  /** The value of a header; names are in lower case. */
  header(name: string): string | undefined;
}

/** A response to a request for the card. */
export interface CardReply {
  readonly status: 200 | 204 | 304 | 405;
  /** Empty if there is none. */
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Serves the card of an agent, and lets clients cache it. */
export class CardHandler {
  readonly #agent: A2aAgent;
  readonly #modified: string;
  readonly #cards = new Map<string, Promise<{ body: string; etag: string }>>();

  constructor(agent: A2aAgent) {
    this.#agent = agent;
    // In whole seconds, as HTTP has it; the card is as old as the process that made it.
    this.#modified = new Date(agent.running.clock.now()).toUTCString();
  }

  async reply(request: CardRequest): Promise<CardReply> {
    const { method, url } = request;
    if (method === "OPTIONS") return { status: 204, body: "", headers: preflightHeaders(request) };
    if (method !== "GET" && method !== "HEAD")
      return { status: 405, body: "", headers: { allow: "GET, HEAD, OPTIONS" } };
    const { body, etag } = await this.#card(url);
    const headers = {
      "content-type": "application/json",
      "cache-control": "public, max-age=300",
      "last-modified": this.#modified,
      etag,
      "access-control-allow-origin": "*",
    };
    return this.#isKnown(etag, request)
      ? { status: 304, body: "", headers }
      : { status: 200, body: method === "HEAD" ? "" : body, headers };
  }

  /** The tag counts, if a client sends both. */
  #isKnown(etag: string, request: CardRequest): boolean {
    const ifNoneMatch = request.header("if-none-match");
    if (ifNoneMatch !== undefined)
      return ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
    return Date.parse(request.header("if-modified-since") ?? "") >= Date.parse(this.#modified);
  }

  #card(url: string): Promise<{ body: string; etag: string }> {
    const made = this.#cards.get(url);
    if (made !== undefined) return made;
    // Clients choose the Host, within what the server allows.
    if (this.#cards.size >= 100) this.#cards.clear();
    const card = this.#make(url);
    this.#cards.set(url, card);
    return card;
  }

  async #make(url: string): Promise<{ body: string; etag: string }> {
    const body = JSON.stringify(await this.#agent.card(url));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
    const hex = Array.from(new Uint8Array(digest).slice(0, 16), (byte) =>
      byte.toString(16).padStart(2, "0"),
    );
    return { body, etag: `"${hex.join("")}"` };
  }
}

/** Browsers ask before they read the card, because A2A clients send their version with the request. */
function preflightHeaders(request: CardRequest): Readonly<Record<string, string>> {
  const asked = request.header("access-control-request-headers");
  return {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, HEAD",
    ...(asked !== undefined && { "access-control-allow-headers": asked }),
    "access-control-max-age": "600",
  };
}
