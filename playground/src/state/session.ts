import { computed, effect, signal, untracked } from "@preact/signals";
import {
  type Client,
  createClient,
  ErrorCode,
  isRpcError,
  type Link,
  type Tap,
  WireError,
} from "callwire";
import { httpLink } from "callwire/http";
import {
  declaredValues,
  hasRichValues,
  type OpenrpcDocument,
  readDocument,
} from "callwire/openrpc";
import { sseLink } from "callwire/sse";
import { webSocketLink } from "callwire/ws";
import { watchedFetch } from "./requests.ts";
import { endpoint, headers, type TransportName, transport, version } from "./settings.ts";
import { record } from "./wire.ts";

/** A client of the endpoint over the transport that was chosen. */
export interface Session {
  readonly link: Link;
  readonly transport: TransportName;
  readonly client: Client;
  /** The same, but calls that are made at the same time are sent as one payload. */
  readonly gathering: Client;
}

export type Status =
  | { readonly state: "connecting" }
  | { readonly state: "connected" }
  /** The server answers, but does not list its methods. */
  | { readonly state: "silent"; readonly message: string }
  /** The server requires credentials. */
  | { readonly state: "locked"; readonly message: string }
  /** The server refused, and retrying would not help. */
  | { readonly state: "refused"; readonly message: string }
  /** The server cannot be reached; the page keeps trying. */
  | { readonly state: "lost"; readonly message: string };

export const session = signal<Session | undefined>(undefined);
export const status = signal<Status>({ state: "connecting" });
export const description = signal<OpenrpcDocument | undefined>(undefined);
export const components = computed(() => description.value?.components?.schemas ?? {});

/** Most calls in a batch that servers of callwire accept by default. */
export const mostInBatch = 100;
const timeoutMs = 120_000;
const longestPauseMs = 2_000;

/** The client for calls of the user: with rich values, if the server has any. */
export const caller = computed((): Client | undefined => {
  const document = description.value;
  const { client, link } = session.value ?? {};
  const isPlain = version.value === "1.0" || !hasRichValues(document ?? {});
  if (document === undefined || link === undefined || isPlain) return client;
  return createClient(link, { timeoutMs, values: "rich", use: [declaredValues(document)] });
});

let asking: AbortController | undefined;

/** Opens a session when the settings change, and closes the previous one. */
export function keepSession(): void {
  effect(() => {
    const opened = open(transport.value, endpoint.value, headers.value.given);
    untracked(() => {
      session.value = opened;
      status.value = { state: "connecting" };
      void discover(opened);
    });
    return () => {
      asking?.abort();
      void opened.client.close();
    };
  });
}

/** Asks the server for its methods until it answers. */
export function reconnect(): void {
  const current = session.value;
  if (current !== undefined) void discover(current);
}

/** A call failed because the server cannot be reached. */
export function noteLoss(error: unknown): void {
  if (!isLoss(error) || status.value.state === "lost") return;
  status.value = { state: "lost", message: error.message };
  reconnect();
}

function open(name: TransportName, path: string, given: Readonly<Record<string, string>>): Session {
  const url = new URL(path, location.href);
  const tap: Tap = (text, direction) => record(name, text, direction);
  const link = linkOf(name, url, given, tap);
  const options = { version: version.value, timeoutMs };
  return {
    transport: name,
    link,
    client: createClient(link, options),
    gathering: createClient(link, { ...options, batch: { max: mostInBatch } }),
  };
}

function linkOf(
  name: TransportName,
  url: URL,
  given: Readonly<Record<string, string>>,
  tap: Tap,
): Link {
  switch (name) {
    case "http":
      return httpLink(url, { headers: given, tap, fetch: watchedFetch(name) });
    case "sse":
      return sseLink(url, { headers: given, tap, fetch: watchedFetch(name) });
    case "websocket":
      return webSocketLink(url, {
        tap,
        reconnect: {
          attempts: Number.POSITIVE_INFINITY,
          maxDelayMs: longestPauseMs,
          onLost: (error) => {
            const { state } = status.value;
            // A server that refuses the page says why, and then closes the connection.
            const isRefused = state === "locked" || state === "refused";
            if (session.value?.transport !== name || isRefused) return;
            status.value = { state: "lost", message: error.message };
            reconnect();
          },
        },
      });
  }
}

async function discover({ client, transport: wire }: Session): Promise<void> {
  asking?.abort();
  const own = new AbortController();
  asking = own;
  const { signal } = own;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const params = version.value === "1.0" ? [] : undefined;
      const found = await client.call("rpc.discover", params, { signal });
      const read = readDocument(found);
      if (signal.aborted) return;
      description.value = read;
      status.value = { state: "connected" };
      return;
    } catch (error) {
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      if (!isLoss(error)) {
        description.value = undefined;
        status.value = { state: stateAfter(error), message };
        return;
      }
      if (wire === "websocket" && attempt === 0 && (await isLockedOverHttp(signal))) {
        status.value = { state: "locked", message };
        return;
      }
      if (signal.aborted) return;
      status.value = { state: "lost", message };
    }
    await pause(Math.min(200 * 2 ** attempt, longestPauseMs), signal);
  }
}

/** Why a server that can be reached does not list its methods. */
function stateAfter(error: unknown): "locked" | "refused" | "silent" {
  if (isUnauthenticated(error)) return "locked";
  if (isRpcError(error, ErrorCode.Forbidden)) return "refused";
  return isRpcError(error) || error instanceof TypeError ? "silent" : "refused";
}

/** Browsers do not report why a WebSocket was refused, so the same address is requested over HTTP, with no more headers than a WebSocket has. */
async function isLockedOverHttp(signal: AbortSignal): Promise<boolean> {
  try {
    const headers = { "content-type": "application/json" };
    const body = '{"jsonrpc":"2.0","method":"rpc.discover","id":1}';
    const response = await fetch(endpoint.value, { method: "POST", headers, body, signal });
    return response.status === 401;
  } catch {
    return false;
  }
}

/** By the error of callwire's servers, or by the status of any other. */
function isUnauthenticated(error: unknown): boolean {
  return (
    isRpcError(error, ErrorCode.Unauthenticated) ||
    (error instanceof WireError && error.status === 401)
  );
}

function isLoss(error: unknown): error is WireError {
  if (!(error instanceof WireError)) return false;
  // A proxy answers instead of a server that is down.
  const { code, status: answered = 0 } = error;
  return (
    ["CONNECTION_FAILED", "CONNECTION_LOST", "TIMEOUT"].includes(code) ||
    (answered >= 502 && answered <= 504)
  );
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
