import { Connection } from "../../connection/connection.ts";
import type { Decision } from "../../connection/connection-admission.ts";
import type { OwnBytes } from "../../protocol/attachments.ts";
import { defaultWriteTimeoutMs } from "../../protocol/defaults.ts";
import { HostCheck } from "../../protocol/host-check.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { ErrorObject, MaybePromise } from "../../protocol/message.ts";
import type { Principal, Transport } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";
import { OpenConnections } from "./open-connections.ts";
import { bytesOf, SocketChannel, type TextSocket } from "./socket-channel.ts";
import {
  type AdmissionOptions,
  admit,
  full,
  isRefused,
  mostConnections,
  type Refused,
} from "./upgrade-check.ts";

/** Bun takes an unsigned integer of 32 bits. */
const mostOfBun = 2 ** 32 - 1;

/** One client, as crossws, Bun or a plain server-side WebSocket presents it. */
export interface WsPeer extends TextSocket, Upgraded {
  send(message: string | OwnBytes): unknown;
  /** How a plain WebSocket presents binary frames; set to "arraybuffer". */
  binaryType?: string;
  /** The socket behind a peer of crossws. */
  readonly websocket?:
    | { readonly binaryType?: string | undefined; readonly bufferedAmount?: number | undefined }
    | undefined;
  readonly remoteAddress?: string | undefined;
  /** What Bun's `server.upgrade` was given: `{ ...(await hooks.upgrade(request)), request }`. */
  readonly data?: Upgraded | undefined;
}

/** What a peer keeps of its upgrade. */
interface Upgraded {
  readonly request?: { readonly headers: Headers } | undefined;
  /** What the hook `upgrade` returned. */
  readonly context?: { readonly principal?: unknown; readonly refusal?: unknown } | undefined;
}

/** A received message: a string, bytes, or an object of crossws that has either. */
export type WsMessage = string | WsMessageObject | ArrayBuffer | Uint8Array;

interface WsMessageObject {
  text(): unknown;
  /** The message as the platform presented it. */
  readonly rawData?: unknown;
}

/** What `open` needs to know of the upgrade. */
interface UpgradeContext {
  readonly principal?: Principal;
  /** The connection is told this error, and closed. */
  readonly refusal?: ErrorObject;
}

/** Fits crossws, h3 and Nitro as it is, and `websocket` of `Bun.serve`. */
export interface WsHooks {
  /** A `Response` refuses the upgrade. */
  upgrade(request: Request): MaybePromise<Response | { context: UpgradeContext }>;
  open(peer: WsPeer): void;
  message(peer: WsPeer, message: WsMessage): void;
  drain(peer: WsPeer): void;
  close(peer: WsPeer, details?: number | { code?: number; reason?: string }, reason?: string): void;
  error(peer: WsPeer, error: unknown): void;
  /** Bun closes the connection of a longer message before it has arrived. */
  readonly maxPayloadLength: number;
}

export interface WsHandlerOptions extends AdmissionOptions<Request> {
  /**
   * How long to wait for a client that does not read, if the platform reports buffered bytes; stops replies from
   * filling memory. @default 10000
   */
  readonly writeTimeoutMs?: number;
}

/**
 * Serves a service through the hooks of a framework, on any runtime. Pings and the maximum frame size are up to the
 * framework, because hooks see whole messages only.
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
  const writeTimeoutMs = limitOf("writeTimeoutMs", options.writeTimeoutMs, defaultWriteTimeoutMs);
  const channels = new WeakMap<WsPeer, SocketChannel>();
  const connections = new OpenConnections(service);
  const access = new HostCheck(service, options);
  return {
    // Twice as long, so that a message that is a little too long is answered.
    maxPayloadLength: Math.min(2 * service.limits.maxMessageBytes, mostOfBun),
    async upgrade(request) {
      if (connections.size >= maxConnections) return refusal(full);
      const transport = transportOf({ request: withHost(request) });
      const decision = await admit(service, access, options, request, transport);
      if (isRefused(decision)) return refusal(decision);
      if ("error" in decision) return { context: { refusal: decision.error } };
      const { principal } = decision;
      return { context: principal === undefined ? {} : { principal } };
    },
    open(peer) {
      // Others that asked at the same time may have connected first.
      if (connections.size >= maxConnections) {
        peer.close(1013, full.message);
        return;
      }
      const channel = new SocketChannel(peer, service.limits, {
        writeTimeoutMs,
        ...(presentsBytes(peer) && {
          sendBytes: (frame: Uint8Array) => peer.send(frame as OwnBytes),
        }),
      });
      channels.set(peer, channel);
      const { principal, refusal } = peer.context ?? peer.data?.context ?? {};
      const decision = { value: (refusal ?? principal) as Decision };
      connections.add(new Connection(channel, { service, transport: transportOf(peer), decision }));
    },
    message(peer, message) {
      channels.get(peer)?.receive(dataOf(message));
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

/** Some runtimes remove the header and only build the URL from it. */
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

/** Whether binary frames arrive as bytes: Deno and some Workers make Blobs of them, whose bytes come later. */
function presentsBytes(peer: WsPeer): boolean {
  if (peer.binaryType === undefined) return peer.websocket?.binaryType !== "blob";
  peer.binaryType = "arraybuffer";
  return true;
}

/** A string, or bytes. */
function dataOf(message: WsMessage): unknown {
  const isObject = typeof message === "object" && "text" in message;
  const bytes = bytesOf(isObject ? message.rawData : message);
  // crossws does not say which messages are text, and some platforms have bytes for all. No text begins with zero.
  if (isObject && bytes?.[0] !== 0) return message.text();
  return bytes ?? message;
}
