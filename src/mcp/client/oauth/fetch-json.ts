import { chunksOf, readText } from "../../../framing/http-exchange.ts";
import { isEnvelope } from "../../../protocol/parse.ts";
import type { Fetch } from "../http/carrier.ts";
import { OAuthError } from "./oauth-error.ts";

export interface JsonAnswer {
  readonly status: number;
  /** Undefined where the body is no object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

const longestAnswer = 1024 * 1024;

/** Asks an authorization server. */
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
    // A redirect could lead a client inside of a network to where nobody else can go.
    const response = await send(url, { ...init, headers, redirect: "manual" });
    status = response.status;
    text = await readText(chunksOf(response.body), longestAnswer);
  } catch (cause) {
    if (cause instanceof OAuthError) throw cause;
    throw new OAuthError(`no answer from ${new URL(url).origin}`, { cause });
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

/**
 * Goes only where nobody can read along. A server elsewhere must not lead the client to what
 * listens on the user's own machine; a server on that machine may.
 */
export function guarded(send: Fetch, server: string): Fetch {
  const isLocal = loopback.test(new URL(server).hostname);
  return (url, init) => {
    const { hostname } = new URL(url);
    mustBeSafe(url);
    if (!isLocal && loopback.test(hostname)) {
      throw new OAuthError(`${server} must not lead to ${hostname}`);
    }
    return send(url, init);
  };
}

/** Codes and tokens travel only where nobody can read along. */
export function mustBeSafe(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  if (protocol === "https:" || (protocol === "http:" && loopback.test(hostname))) return;
  throw new OAuthError(`${url} is not safe for authorization; it must begin with https:`);
}
