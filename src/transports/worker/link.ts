import type { Channel } from "../../connection/channel.ts";
import { Connection } from "../../connection/connection.ts";
import { type Limits, limitsFrom } from "../../protocol/limits.ts";
import type { Log } from "../../protocol/log.ts";
import type { Service } from "../../protocol/service.ts";
import type { Tap } from "../../protocol/tap.ts";
import { type Port, PortChannel, transport } from "./port-channel.ts";

export interface PortLinkOptions {
  /** Answers the peer's calls. @default none */
  readonly service?: Service | undefined;
  /** Limits on what the peer sends. @default those of the service */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log | undefined;
  /** Observes every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Wraps the channel before the connection uses it, for example to send invalid messages in a test. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

/**
 * Calls the service at the other side of a port: `portLink(new Worker(url))`. Closing it closes the port, or
 * terminates the Worker.
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
