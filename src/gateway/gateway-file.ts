import type { Middleware } from "../protocol/handle.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Version } from "../protocol/parse.ts";
import type { RouteConfig } from "./routes.ts";
import type { UpstreamConfig } from "./upstream.ts";

/** An upstream by its address. */
export interface UpstreamEntry
  extends Pick<
    UpstreamConfig,
    "per" | "version" | "forwardHeaders" | "healthCheck" | "circuitBreaker"
  > {
  /** Most connections that callers have to themselves, for each address. @default 32 for stdio, where each is a process */
  readonly maxConnections?: number;
  /** Where it is: http, https, ws, wss, tcp, tls, unix, stdio or nats. */
  readonly url?: string;
  /** In place of one: several that do the same, among which calls are spread. */
  readonly urls?: readonly string[];
  /** `by` says what decides, such as "params.user", "principal" or "header.x-tenant". */
  readonly balance?: "round-robin" | "least-in-flight" | { readonly by: string };
  /** How messages are told apart, for tcp, tls, unix and stdio. @default "newline" */
  readonly framing?: "newline" | "content-length" | "length-prefix";
  /** Sent with every request; "$NAME" takes the value from the environment. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A config of `callwire gateway`: what a JSON file holds, or a module exports by default. */
export interface GatewayFile<Name extends string = string> {
  /** What the merged document of `rpc.discover` is called. */
  readonly title?: string;
  /** The version of the API in the merged document. @default "0.0.0" */
  readonly version?: string;
  /** Which JSON-RPC callers may speak. @default ["2.0"] */
  readonly versions?: readonly Version[];
  /** Longest run of a call. @default 60000 */
  readonly timeoutMs?: number;
  /**
   * Bounds on single messages, batches, streams and connections; each stops one way to exhaust the gateway.
   * @default defaultLimits
   */
  readonly limits?: Partial<Limits>;
  /** The servers behind the gateway, by the names that routes use. */
  readonly upstreams: Readonly<Record<Name, UpstreamEntry>>;
  /**
   * Which method goes to which upstream. The closest match decides: a full name before a prefix, a long prefix
   * before a short one.
   */
  readonly routes: readonly RouteConfig<NoInfer<Name>>[];
  /** Only in a module: wraps every call. */
  readonly use?: readonly Middleware[];
  /** Only in a module. */
  readonly log?: Log;
}

/**
 * Gives the config of a module its types: `export default defineGateway({ … })`.
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
