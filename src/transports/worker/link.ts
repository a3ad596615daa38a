import type { Channel } from "../../connection/channel.ts";
import { Connection } from "../../connection/connection.ts";
import { type Limits, limitsFrom } from "../../protocol/limits.ts";
import type { Log } from "../../protocol/log.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import { transport } from "./origin.ts";
import type { Port } from "./port.ts";
import { PortChannel } from "./port-channel.ts";

export interface PortLinkOptions {
  /** Answers what the other end calls. */
  readonly service?: Service | undefined;
  /** Limits on what the other end sends. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Wraps the channel before the connection has it, such as to send texts that no client would. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

/**
 * Calls what the other end of a port serves: `portLink(new Worker(url))`. Closing it closes the
 * port; a Worker given as such ends with it.
 * @example
 * ```ts
 * import { Worker } from "node:worker_threads";
 * import { createClient } from "callwire";
 * import { portLink } from "callwire/worker";
 *
 * const client = createClient<typeof methods>(portLink(new Worker("./worker.js")));
 * console.log(await client.api.math.add({ a: 2, b: 3 }));
 * await client.close(); // ends the worker too
 * ```
 */
export function portLink(port: Port, options: PortLinkOptions = {}): Connection {
  const { service, log, tap } = options;
  const limits = limitsFrom({ ...service?.limits, ...options.limits });
  const own = new PortChannel(port);
  const channel = options.wrapChannel?.(own) ?? own;
  return new Connection(channel, { service, limits, log, tap, transport });
}
