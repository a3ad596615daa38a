import { chunksOf, readText } from "../../../http/client-exchange.ts";
import type { Clock } from "../../../protocol/clock.ts";
import { isEnvelope } from "../../../protocol/envelope.ts";
import type { Fetch } from "../http/http-sender.ts";

export interface JsonAnswer {
  readonly status: number;
  /** Undefined if the body is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

const longestAnswer = 1024 * 1024;
/** All requests share one authorization, so a silent authorization server must not block them forever. */
const longestWaitMs = 30_000;

/** Sends a request to an authorization server. */
export async function fetchJson(
  send: Fetch,
  url: string,
  init: RequestInit = {},
): Promise<JsonAnswer> {
  const headers = new Headers(init.headers);
  headers.set("accept", "application/json");
  let text: string;
  let status: number;
  try {
    // A redirect could lead a client inside a network to addresses that only it can reach.
    const response = await send(url, { ...init, headers, redirect: "manual" });
    status = response.status;
    text = await readText(chunksOf(response.body), longestAnswer);
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    throw new OAuthError(`no response from ${new URL(url).origin}`, { cause });
  }
  return { status, body: objectIn(text) };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isEnvelope(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** All addresses of the local machine, including unusual forms. */
const ownMachine =
  /^(?:(?:.+\.)?localhost\.?|(?:0|127)\.\d+\.\d+\.\d+|\[::(?:1|ffff:(?:0|7f[\da-f]{2}):[\da-f]+)?\])$/;

/**
 * Allows only secure addresses and bounds the wait. A remote server must not send the client to services on
 * the user's own machine; a local one may.
 */
export function guardedFetch(send: Fetch, server: string, clock: Clock): Fetch {
  const isLocal = ownMachine.test(new URL(server).hostname);
  return (url, init) => {
    requireSecureUrl(url);
    const { hostname } = new URL(url);
    if (!isLocal && ownMachine.test(hostname)) {
      throw new OAuthError(`${server} must not send the client to ${hostname}`);
    }
    const late = new AbortController();
    clock.after(longestWaitMs, () => late.abort(new Error(`${hostname} did not respond in time`)));
    return send(url, { ...init, signal: late.signal });
  };
}

/** Codes and tokens must only be sent encrypted or to the local machine. */
export function requireSecureUrl(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  if (protocol === "https:" || (protocol === "http:" && loopback.test(hostname))) return;
  throw new OAuthError(`${url} is not safe for authorization; it must start with https:`);
}

/**
 * Authorization failed. `reason` is the error code of the authorization server, if it sent one.
 * @example
 * ```ts
 * import { type McpClient, OAuthError } from "callwire/mcp/client";
 *
 * export async function add(client: McpClient): Promise<void> {
 *   try {
 *     await client.callTool("math_add", { a: 2, b: 3 });
 *   } catch (error) {
 *     if (error instanceof OAuthError) console.error("not signed in:", error.reason);
 *     else throw error;
 *   }
 * }
 * ```
 */
export class OAuthError extends Error {
  readonly reason: string | undefined;

  constructor(message: string, options: { cause?: unknown; reason?: string } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "OAuthError";
    this.reason = options.reason;
  }
}
