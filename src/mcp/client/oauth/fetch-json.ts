import { chunksOf, readText } from "../../../http/client-exchange.ts";
import type { Clock } from "../../../protocol/clock.ts";
import { isEnvelope } from "../../../protocol/parse.ts";
import type { Fetch } from "../http/carrier.ts";
import { OAuthError } from "./oauth-error.ts";

export interface JsonAnswer {
  readonly status: number;
  /** Undefined where the body is no object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

const longestAnswer = 1024 * 1024;
/** Requests wait for one authorization together, and one server that never answers must not stop all that follow. */
const longestWaitMs = 30_000;

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
/** All names by which a machine reaches itself, also those that nobody would write. */
const ownMachine =
  /^(?:(?:.+\.)?localhost\.?|(?:0|127)\.\d+\.\d+\.\d+|\[::(?:1|ffff:(?:0|7f[\da-f]{2}):[\da-f]+)?\])$/;

/**
 * Goes only where nobody can read along, and does not wait there for ever. A server elsewhere must not lead the client to what
 * listens on the user's own machine; a server on that machine may.
 */
export function guarded(send: Fetch, server: string, clock: Clock): Fetch {
  const isLocal = ownMachine.test(new URL(server).hostname);
  return (url, init) => {
    mustBeSafe(url);
    const { hostname } = new URL(url);
    if (!isLocal && ownMachine.test(hostname)) {
      throw new OAuthError(`${server} must not lead to ${hostname}`);
    }
    const late = new AbortController();
    clock.after(longestWaitMs, () => late.abort(new Error(`${hostname} takes too long`)));
    return send(url, { ...init, signal: late.signal });
  };
}

/** Codes and tokens travel only where nobody can read along. */
export function mustBeSafe(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  if (protocol === "https:" || (protocol === "http:" && loopback.test(hostname))) return;
  throw new OAuthError(`${url} is not safe for authorization; it must begin with https:`);
}
