import { chunksOf, type HeaderRecord, readText, wireErrorOf } from "../../http/client-exchange.ts";
import { WireError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import { isRecord } from "../../protocol/record.ts";
import type { AgentCard, SecurityScheme } from "../card.ts";
import { CardCache } from "./card-cache.ts";

/** The card of an agent, and the interface that the client uses. */
export interface Discovered {
  readonly card: AgentCard;
  readonly url: string;
  readonly version: "1.0" | "0.3";
  readonly tenant: string | undefined;
}

export type Send = (url: string, init: RequestInit) => Promise<Response>;

/** Fails with the reason, which `fetch` hides in the cause of its error; not if the caller gave up. */
export async function sent(send: Send, url: string, init: RequestInit): Promise<Response> {
  try {
    return await send(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw wireErrorOf(error);
  }
}

const maxCardLength = 1024 * 1024;

/** Reads the card at an address: the address of the card itself, or of the agent's host. */
export async function discover(
  address: string,
  send: Send,
  headers: HeaderRecord,
  cards: CardCache = new CardCache(),
): Promise<Discovered> {
  const url = address.endsWith(".json")
    ? address
    : new URL("/.well-known/agent-card.json", address).href;
  const text = await cards.text(
    JSON.stringify([url, headers]),
    (etag) =>
      sent(send, url, {
        // Following a redirect would send the headers to another server.
        redirect: Object.keys(headers).length === 0 ? "follow" : "manual",
        headers: {
          ...headers,
          accept: "application/json",
          "a2a-version": "1.0",
          ...(etag !== undefined && { "if-none-match": etag }),
        },
      }),
    (response) => textOf(response, url),
  );
  let card: unknown;
  try {
    card = JSON.parse(text);
  } catch (cause) {
    throw badReply(`the agent card at ${url} is not JSON`, { cause });
  }
  if (typeof card !== "object" || card === null)
    throw new WireError("BAD_REPLY", `the agent card at ${url} is not an object`);
  return chosen(card as AgentCard & LegacyCard, url);
}

async function textOf(response: Response, url: string): Promise<string> {
  const text = await readText(chunksOf(response.body), maxCardLength);
  if (response.ok) return text;
  throw new WireError(
    "BAD_REPLY",
    `there is no agent card at ${url} (HTTP status ${response.status})`,
  );
}

/** What 0.3 has instead of `supportedInterfaces`. */
interface LegacyCard {
  readonly url?: string;
  readonly protocolVersion?: string;
}

/** The first interface for JSON-RPC, in the order of the card. Anything that is not an interface is skipped. */
function chosen(card: AgentCard & LegacyCard, from: string): Discovered {
  const listed: unknown = card.supportedInterfaces;
  const interfaces = Array.isArray(listed) ? listed.filter(isRecord) : [];
  for (const { protocolBinding, protocolVersion, url, tenant } of interfaces) {
    if (textIn(protocolBinding).toUpperCase() !== "JSONRPC") continue;
    const version = /^(1\.0|0\.3)(\.\d+)?$/.exec(textIn(protocolVersion))?.[1] as
      | "1.0"
      | "0.3"
      | undefined;
    if (version !== undefined)
      return { card, url: addressIn(url, from), version, tenant: textIn(tenant) || undefined };
  }
  if (interfaces.length === 0 && card.url !== undefined)
    return { card, url: addressIn(card.url, from), version: "0.3", tenant: undefined };
  throw new WireError("UNSUPPORTED", "the agent offers no JSON-RPC interface of A2A 1.0 or 0.3");
}

function textIn(member: unknown): string {
  return typeof member === "string" ? member : "";
}

function addressIn(url: unknown, from: string): string {
  try {
    return new URL(textIn(url), from).href;
  } catch (cause) {
    throw badReply(`the agent card at ${from} has an address that is not a URL`, { cause });
  }
}

/** The headers that credentials go into, as the schemes of the card say. */
export function credentialHeaders(
  schemes: Readonly<Record<string, SecurityScheme>> = {},
  credentials: Readonly<Record<string, string>> = {},
): HeaderRecord {
  const headers: Record<string, string> = {};
  for (const [name, secret] of Object.entries(credentials)) {
    const scheme = Object.hasOwn(schemes, name) ? schemes[name] : undefined;
    if (scheme === undefined)
      throw new TypeError(
        `the card has no security scheme "${name}", only ${Object.keys(schemes).join(", ")}`,
      );
    const { apiKeySecurityScheme: key, httpAuthSecurityScheme: http } = scheme;
    if (key === undefined) headers.authorization = `${http?.scheme ?? "Bearer"} ${secret}`;
    else if (key.location === "header") headers[key.name.toLowerCase()] = secret;
    else
      throw new TypeError(
        `the API key of "${name}" goes into a ${key.location}, which is not supported`,
      );
  }
  return headers;
}
