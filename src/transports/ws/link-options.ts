import type { Channel } from "../../connection/channel.ts";
import type { HeartbeatOptions } from "../../connection/heartbeat.ts";
import type { ReconnectOptions } from "../../connection/reconnect.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Limits, limitsFrom } from "../../protocol/limits.ts";
import type { Log } from "../../protocol/log.ts";
import type { SealMaker } from "../../protocol/seal.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import { wrongAddress } from "../../protocol/url.ts";

export interface WebSocketConnectOptions extends HeartbeatOptions {
  /** Headers of the upgrade request; browsers and Workers cannot send any, and fail. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols to offer. @default none */
  readonly protocols?: readonly string[];
  /** Answers the server's calls. @default none */
  readonly service?: Service | undefined;
  /** Limits on what the server sends. @default those of the service */
  readonly limits?: Partial<Limits>;
  /** How long connecting may take. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** Aborts connecting. */
  readonly signal?: AbortSignal;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log;
  /** Signs and verifies each message. @default that of the service */
  readonly seal?: SealMaker;
  /** Observes every message that is sent or received. */
  readonly tap?: Tap;
  /** Wraps the channel before the connection uses it, for example to send invalid messages in a test. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

export interface WebSocketLinkOptions extends WebSocketConnectOptions {
  /** How a lost connection is restored; false never reconnects. @default true */
  readonly reconnect?: boolean | ReconnectOptions;
}

export const defaultConnectTimeoutMs = 10_000;

/** A `ws:` or `wss:` URL; accepts `http:` and `https:`, and in a page relative ones. */
export function webSocketUrl(address: string | URL): URL {
  const base = (globalThis as { location?: { href: string } }).location?.href;
  const url = URL.canParse(address, base) ? new URL(address, base) : undefined;
  if (url?.protocol === "http:") url.protocol = "ws:";
  else if (url?.protocol === "https:") url.protocol = "wss:";
  if (url === undefined || !/^wss?:$/.test(url.protocol)) {
    throw wrongAddress("ws://host/path or wss://host/path", address);
  }
  return url;
}

export function clientLimits(options: WebSocketConnectOptions): Limits {
  return limitsFrom({ ...options.service?.limits, ...options.limits });
}

/** Leaves out query and user of the URL, which may hold a secret. */
export function connectionFailed(
  url: URL,
  sentence: string,
  options: { cause?: unknown; status?: number } = {},
): WireError {
  return new WireError(
    "CONNECTION_FAILED",
    `${url.protocol}//${url.host}${url.pathname} ${sentence}`,
    options,
  );
}
