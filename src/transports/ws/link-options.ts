import type { Channel } from "../../connection/channel.ts";
import type { Connection } from "../../connection/connection.ts";
import type { HeartbeatOptions } from "../../connection/heartbeat.ts";
import { type Open, reconnecting } from "../../connection/reconnect.ts";
import type { ReconnectOptions } from "../../connection/reconnect-options.ts";
import { systemClock } from "../../protocol/clock.ts";
import type { CredentialSource } from "../../protocol/credentials.ts";
import { defaultConnectTimeoutMs } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Limits, limitsFrom } from "../../protocol/limits.ts";
import type { Link } from "../../protocol/link.ts";
import type { Log } from "../../protocol/log.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { SealMaker } from "../../protocol/seal.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import { LateError, withTimeout } from "../../protocol/waiting.ts";

/** A value, or a function that returns it for each connection, such as one with a fresh token. */
export type PerConnection<T> = T | (() => MaybePromise<T>);

export interface WebSocketConnectOptions extends HeartbeatOptions {
  /**
   * Headers of the upgrade request, or a function that returns them for each connection. Browsers and Workers cannot
   * send any, and fail. @default none
   */
  readonly headers?: PerConnection<Readonly<Record<string, string>>>;
  /**
   * Gets what authenticates the client, for each connection; pages use the `protocols` of a ticket. If the server refuses
   * it, or answers a call with -32001 later, it is asked again with `refused: true`, and the call is sent once more over
   * a new connection. @default none
   */
  readonly credentials?: CredentialSource;
  /** What a relative address is resolved against; its scheme may be `http:` or `https:` too. @default the page */
  readonly baseUrl?: string | URL;
  /** Subprotocols to offer, or a function that returns them for each connection. @default none */
  readonly protocols?: PerConnection<readonly string[]>;
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

/** What the upgrade request shows the server. */
export interface UpgradeRequest {
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly protocols: readonly string[];
}

/** Gets the headers and protocols of this connection from the options, within `connectTimeoutMs`. */
export async function upgradeRequest(options: WebSocketConnectOptions): Promise<UpgradeRequest> {
  const { headers, protocols, credentials, clock = systemClock } = options;
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options;
  const ask = async (): Promise<UpgradeRequest> => {
    const base = typeof headers === "function" ? await headers() : headers;
    const offered = typeof protocols === "function" ? await protocols() : (protocols ?? []);
    const shown = await credentials?.({ refused: false });
    return {
      headers: shown?.headers === undefined ? base : { ...base, ...shown.headers },
      protocols: [...offered, ...(shown?.protocols ?? [])],
    };
  };
  if (typeof headers !== "function" && typeof protocols !== "function" && !credentials)
    return ask();
  const late = `the credentials did not arrive within ${connectTimeoutMs} ms`;
  return withTimeout(clock, connectTimeoutMs, ask(), late).catch((error: unknown) => {
    throw error instanceof LateError ? new WireError("CONNECTION_FAILED", late) : error;
  });
}

/** Opens the connections of a link: each asks for its credentials, and says if the last ones were refused. */
export function reconnectingWith(
  connect: (options: WebSocketConnectOptions) => Promise<Connection>,
  options: WebSocketLinkOptions,
): Link {
  const { credentials, reconnect = true } = options;
  if (credentials === undefined) {
    return reconnecting((signal) => connect({ ...options, signal }), reconnect);
  }
  const open: Open = (signal, refused) =>
    connect({ ...options, signal, credentials: () => credentials({ refused }) });
  if (reconnect === false) return reconnecting(open, false);
  return reconnecting(open, { renews: true, ...(reconnect === true ? undefined : reconnect) });
}

export function clientLimits(options: WebSocketConnectOptions): Limits {
  return limitsFrom({ ...options.service?.limits, ...options.limits });
}
