import type { TlsOptions } from "node:tls";
import type { Service } from "../protocol/service.ts";
import type { ConnectionLimits } from "../streams/connection-counts.ts";
import type { NodeHandler, NodeHttpOptions } from "../transports/http/node-handler.ts";
import type { WsUpgradeOptions } from "../transports/ws/upgrade.ts";
import type { Ready } from "./health-probes.ts";

export interface ServeHttpOptions extends NodeHttpOptions, ConnectionLimits {
  /** The port to listen on; 0 takes a free one. @default 8000 */
  readonly port?: number;
  /** The address to listen on; "::" and "0.0.0.0" accept connections from other machines. @default "127.0.0.1" */
  readonly host?: string;
  /** The path of the service. @default "/rpc" */
  readonly path?: string;
  /**
   * Services and request handlers at other paths. A handler at a path that ends with a slash gets all requests
   * below it. Handlers get only requests that passed the checks of Host and Origin. @default none
   */
  readonly mounts?: Readonly<Record<string, Service | NodeHandler>>;
  /** Serves a page at `/` to view, try and watch the methods. @default false */
  readonly playground?: boolean;
  /** Certificate and key, as for `https.createServer` of Node; serves HTTPS with TLS 1.2 or later. @default plain HTTP */
  readonly tls?: TlsOptions;
  /** Options of WebSockets, which are served at the path and at `/ws` below it; false refuses them. @default served */
  readonly webSocket?: Omit<WsUpgradeOptions, "hosts" | "origins"> | false;
  /** How long the headers of a request, and with TLS the handshake, may take to arrive; stops clients that hold connections by sending slowly. @default 10000 */
  readonly headersTimeoutMs?: number;
  /** How long a whole request may take to arrive; stops the same. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** Interval in which slow requests are looked for. @default 2000 */
  readonly checkIntervalMs?: number;
  /** How long an idle connection stays open; longer than most proxies keep theirs. @default 65000 */
  readonly keepAliveTimeoutMs?: number;
  /**
   * Reads plain requests (a POST with a length, each header once) directly from the socket, which takes about two
   * thirds of the time; Node reads all others. `server` emits all of them if you add a listener for "request".
   * @default true
   */
  readonly fastPath?: boolean;
  /** How long running calls may take to finish when this server closes. @default 10000 */
  readonly drainMs?: number;
  /** A check for `/readyz`, in addition to not shutting down. @default none */
  readonly ready?: Ready;
}

/** Serves on several processes, which share the port. */
export interface ServeWorkersOptions extends ServeHttpOptions {
  /**
   * How many processes answer; "auto" starts one for each core. The program runs again in each of them, by
   * `node:cluster`, and only the first process, which starts the others, does not answer calls itself.
   */
  readonly workers: number | "auto";
}
