import type { TlsOptions } from "node:tls";
import type { Service } from "../protocol/service.ts";
import type { ConnectionLimits } from "../streams/connection-counts.ts";
import type { NodeHandler, NodeHttpOptions } from "../transports/http/node-handler.ts";
import type { WsUpgradeOptions } from "../transports/ws/upgrade.ts";
import type { Ready } from "./probes.ts";

export interface ServeHttpOptions extends NodeHttpOptions, ConnectionLimits {
  /** 0 takes a free one. @default 8000 */
  readonly port?: number;
  /** The address to listen at; "::" or "0.0.0.0" let other machines in. @default "127.0.0.1" */
  readonly host?: string;
  /** Where the service is called. @default "/rpc" */
  readonly path?: string;
  /**
   * What else is at which path: a service, or a handler of requests. A handler at a path that ends
   * with a slash has all that is below it, and sees only requests that passed the check of Host and Origin.
   */
  readonly mounts?: Readonly<Record<string, Service | NodeHandler>>;
  /** A page at `/` where people see, try and watch the methods. @default false */
  readonly playground?: boolean;
  /** Certificate and key, as Node's `https.createServer` takes them; makes it HTTPS, TLS 1.2 at least. */
  readonly tls?: TlsOptions;
  /** WebSockets at the path and at `/ws` below it; false refuses them. */
  readonly webSocket?: Omit<WsUpgradeOptions, "hosts" | "origins"> | false;
  /** How long headers may take; stops clients that hold connections by sending slowly. @default 10000 */
  readonly headersTimeoutMs?: number;
  /** How long a whole request may take to arrive. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** How often slow requests are looked for. @default 2000 */
  readonly checkIntervalMs?: number;
  /** How long a connection without a request stays open; longer than with usual proxies. @default 65000 */
  readonly keepAliveTimeoutMs?: number;
  /** How long running calls may take to finish when this server closes. @default 10000 */
  readonly drainMs?: number;
  /** What must hold, beside not being about to stop, for `/readyz` to say that calls may come. */
  readonly ready?: Ready;
}
