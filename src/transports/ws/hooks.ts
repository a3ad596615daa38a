import { Connection } from "../../connection/connection.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { Principal, Transport } from "../../protocol/origin.ts";
import { Access } from "../../protocol/provenance.ts";
import type { Service } from "../../protocol/service.ts";
import {
  type AdmissionOptions,
  admit,
  full,
  isRefused,
  mostConnections,
  type Refused,
} from "./admission.ts";
import { OpenConnections } from "./open-connections.ts";
import { SocketChannel, type TextSocket } from "./socket-channel.ts";

/** One client, as crossws, Bun or a plain WebSocket of the server's side shows it. */
export interface WsPeer extends TextSocket, Upgraded {
  readonly remoteAddress?: string | undefined;
  /** Where Bun keeps what `server.upgrade` was given: `{ ...(await hooks.upgrade(request)), request }`. */
  readonly data?: Upgraded | undefined;
}

/** What a peer remembers of its upgrade. */
interface Upgraded {
  readonly request?: { readonly headers: Headers } | undefined;
  /** What the hook `upgrade` returned. */
  readonly context?: { readonly principal?: unknown } | undefined;
}

/** What arrived: the text, or an object of crossws that has it. */
export type WsMessage = string | { text(): unknown } | ArrayBuffer | Uint8Array;

/** Fits crossws, h3 and Nitro as it is, and `websocket` of `Bun.serve`. */
export interface WsHooks {
  /** A `Response` refuses the upgrade. */
  upgrade(request: Request): MaybePromise<Response | { context: { principal?: Principal } }>;
  open(peer: WsPeer): void;
  message(peer: WsPeer, message: WsMessage): void;
  drain(peer: WsPeer): void;
  close(peer: WsPeer, details?: number | { code?: number; reason?: string }, reason?: string): void;
  error(peer: WsPeer, error: unknown): void;
}

export interface WsHandlerOptions extends AdmissionOptions<Request> {
  /**
   * How long to wait for a client that does not read, where the platform says how much waits; stops those that let
   * replies fill memory. @default 10000
   */
  readonly writeTimeoutMs?: number;
}

/**
 * Serves a service through the hooks of a framework, on any runtime. Pings and the longest frame
 * are the framework's to set, since hooks see whole messages only.
 * @example
 * ```ts
 * import { wsHandler } from "callwire/ws";
 *
 * // A route of h3 or Nitro takes these hooks as they are: defineWebSocketHandler(hooks).
 * const hooks = wsHandler(server, { origins: ["https://app.example.com"] });
 * ```
 */
export function wsHandler(service: Service, options: WsHandlerOptions = {}): WsHooks {
  const maxConnections = mostConnections(options);
  const writeTimeoutMs = limitOf("writeTimeoutMs", options.writeTimeoutMs, 10_000);
  const channels = new WeakMap<WsPeer, SocketChannel>();
  const connections = new OpenConnections(service);
  const access = new Access(options);
  return {
    async upgrade(request) {
      if (connections.size >= maxConnections) return refusal(full);
      const transport = transportOf({ request: withHost(request) });
      const verdict = await admit(service, access, options, request, transport);
      if (isRefused(verdict)) return refusal(verdict);
      const { principal } = verdict;
      return { context: principal === undefined ? {} : { principal } };
    },
    open(peer) {
      // Others that asked at the same time may have come in first.
      if (connections.size >= maxConnections) {
        peer.close(1013, full.message);
        return;
      }
      const channel = new SocketChannel(peer, service.limits, { writeTimeoutMs });
      channels.set(peer, channel);
      const { principal } = peer.context ?? peer.data?.context ?? {};
      const verdict = { value: principal as Principal | undefined };
      connections.add(new Connection(channel, { service, transport: transportOf(peer), verdict }));
    },
    message(peer, message) {
      channels.get(peer)?.receive(textOf(message));
    },
    drain(peer) {
      channels.get(peer)?.drained();
    },
    close(peer, details, reason = "") {
      const close = typeof details === "number" ? { code: details, reason } : details;
      channels.get(peer)?.closed(close?.code, close?.reason ?? "");
    },
    error(peer, error) {
      channels.get(peer)?.failed(error instanceof Error ? error : new Error(String(error)));
    },
  };
}

function refusal({ status, message, headers }: Refused): Response {
  return new Response(message, { status, ...(headers === undefined ? undefined : { headers }) });
}

/** Some runtimes keep the header to themselves and only make the URL from it. */
function withHost(request: Request): { readonly headers: Headers } {
  if (request.headers.has("host")) return request;
  const headers = new Headers(request.headers);
  headers.set("host", new URL(request.url).host);
  return { headers };
}

function transportOf(peer: Upgraded & Pick<WsPeer, "data" | "remoteAddress">): Transport {
  const headers = (peer.request ?? peer.data?.request)?.headers;
  return {
    kind: "websocket",
    headers: headers === undefined ? {} : Object.fromEntries(headers.entries()),
    remoteAddress: peer.remoteAddress,
  };
}

/** Some versions of crossws have bytes for text, too, so that the object's own word counts. */
function textOf(message: WsMessage): unknown {
  return typeof message === "object" && "text" in message ? message.text() : message;
}
