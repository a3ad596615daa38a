import type { Middleware } from "../protocol/handle.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Version } from "../protocol/parse.ts";
import type { RouteConfig } from "./routes.ts";
import type { UpstreamConfig } from "./upstream.ts";

/** An upstream given by its address. */
export interface UpstreamEntry
  extends Pick<
    UpstreamConfig,
    "per" | "version" | "forwardHeaders" | "healthCheck" | "circuitBreaker" | "required"
  > {
  /** Most connections for single callers, for each address; further callers get -32005. @default 32 for stdio, where each is a process */
  readonly maxConnections?: number;
  /** The address: http, https, ws, wss, tcp, tls, unix, stdio or nats. */
  readonly url?: string;
  /** Instead of `url`: several equal servers, among which calls are balanced. */
  readonly urls?: readonly string[];
  /** Instead of `url`: a durable queue on NATS JetStream, which stores notifications until a worker has handled them. */
  readonly durable?: DurableEntry;
  /** How calls are balanced; `by` names the key, such as "params.user", "principal" or "header.x-tenant". @default "round-robin" */
  readonly balance?: "round-robin" | "least-in-flight" | { readonly by: string };
  /** How messages are framed on tcp, tls, unix and stdio. @default "newline" */
  readonly framing?: "newline" | "content-length" | "length-prefix";
  /** Headers of every request; "$NAME" takes the value from the environment. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A durable queue on NATS JetStream. Only notifications can be routed there; calls get an error. */
export interface DurableEntry {
  /** The address: `nats://host:port/subject`. */
  readonly url: string;
  /** The partitions of the queue, the same number as the workers have. @default 0, without order */
  readonly partitions?: number;
  /** Notifications with the same value run in order, such as "params.user". @default none */
  readonly key?: string;
  /** How long to try to store a notification. @default 30000 */
  readonly timeoutMs?: number;
}

/** A config of `callwire gateway`: a JSON file, or the default export of a module. */
export interface GatewayFile<Name extends string = string> {
  /** The title of the merged document of `rpc.discover`. */
  readonly title?: string;
  /** The version of that document. @default "0.0.0" */
  readonly version?: string;
  /** JSON-RPC versions that callers may use. @default ["2.0"] */
  readonly versions?: readonly Version[];
  /** Longest run of a call; a hanging server must not hold its callers. @default 60000 */
  readonly timeoutMs?: number;
  /** Limits for callers; see `Limits`. @default `defaultLimits` */
  readonly limits?: Partial<Limits>;
  /** Callers need a key of this file: a JSON array of what `callwire keys create` prints. @default none */
  readonly apiKeys?: string;
  /** Callers need a token that is signed with one of the keys at `jwks`. @default none */
  readonly jwt?: { readonly jwks: string; readonly issuer: string; readonly audience: string };
  /** Calls of one address, such as "100/s" or "600/m". @default none */
  readonly rateLimit?: string;
  /** The certificate for HTTPS and its private key, as files in PEM. @default plain HTTP */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Whether to serve metrics at `/metrics`. @default false */
  readonly metrics?: boolean;
  /** The servers behind the gateway, by the names that routes use. */
  readonly upstreams: Readonly<Record<Name, UpstreamEntry>>;
  /**
   * Which method goes to which upstream. The closest match decides: a full name before a prefix, a long prefix
   * before a short one.
   */
  readonly routes: readonly RouteConfig<NoInfer<Name>>[];
  /** Middleware around every call; only in a module. @default none */
  readonly use?: readonly Middleware[];
  /** Where the gateway logs (only in a module), or in which format. @default the console, as JSON unless it is a terminal */
  readonly log?: Log | "json" | "pretty";
}

/**
 * Types the config of a module: `export default defineGateway({ … })`.
 * @example
 * ```ts
 * import { defineGateway } from "callwire/gateway";
 * import { rateLimit } from "callwire/security";
 *
 * export default defineGateway({
 *   upstreams: { math: { url: "ws://10.0.0.1:8000/rpc" } },
 *   routes: [{ method: "math/*", to: "math" }],
 *   use: [rateLimit({ by: "address", capacity: 100, perSecond: 10 })],
 * });
 * ```
 */
export function defineGateway<Name extends string>(file: GatewayFile<Name>): GatewayFile<Name> {
  return file;
}
