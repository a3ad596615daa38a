import type { Channel } from "../../connection/channel.ts";
import type { HeartbeatOptions } from "../../connection/heartbeat.ts";
import type { ReconnectOptions } from "../../connection/reconnect.ts";
import { wrongAddress } from "../../protocol/address.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Limits, limitsFrom } from "../../protocol/limits.ts";
import type { Log } from "../../protocol/log.ts";
import type { SealMaker } from "../../protocol/seal.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";

export interface WebSocketConnectOptions extends HeartbeatOptions {
  /** Sent with the upgrade; browsers and Workers cannot, and refuse. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols to offer. */
  readonly protocols?: readonly string[];
  /** Answers what the other end calls. */
  readonly service?: Service | undefined;
  /** Limits on what the other end sends; those of the service where there is one. */
  readonly limits?: Partial<Limits>;
  /** How long the upgrade may take; a host that does not answer must not hold its callers. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** Gives up connecting. */
  readonly signal?: AbortSignal;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log;
  /** Signs and checks each message; that of the service where there is one. */
  readonly seal?: SealMaker;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap;
  /** Wraps the channel before the connection has it, such as to send texts that no client would. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

export interface WebSocketLinkOptions extends WebSocketConnectOptions {
  /** How a lost connection heals; false gives up instead. @default true */
  readonly reconnect?: boolean | ReconnectOptions;
}

export const defaultConnectTimeoutMs = 10_000;

/** A `ws:` or `wss:` address; `http:` ones are understood, and in a page those relative to it. */
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

/** Names the address without its query and user, which may hold a secret. */
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
