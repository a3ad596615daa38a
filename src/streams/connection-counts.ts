import type { EventEmitter } from "node:events";
import type { Clock } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import { networkOf } from "../protocol/network.ts";
import { RareWarning } from "../protocol/rare-warning.ts";

export interface ConnectionLimits {
  /** Most connections at the same time; more are refused. Stops exhaustion of the process. @default 1000 */
  readonly maxConnections?: number;
  /**
   * Most connections of one address, or of one IPv6 network (/64), so that no client can take all of them. Raise it
   * behind a proxy, whose address all clients share. Unix sockets have no addresses. @default half of
   * `maxConnections`, at least 100
   */
  readonly maxConnectionsPerAddress?: number;
}

/** Counts the open connections of a server, in total and by address. */
export class ConnectionCounts {
  readonly max: number;
  readonly #maxPerAddress: number;
  readonly #byNetwork = new Map<string, number>();
  readonly #dropped: RareWarning;
  #total = 0;

  constructor(options: ConnectionLimits, log: Log, clock: Clock) {
    this.#dropped = new RareWarning(log, clock, "too many connections; dropped one");
    this.max = limitOf("maxConnections", options.maxConnections, 1_000);
    this.#maxPerAddress = limitOf(
      "maxConnectionsPerAddress",
      options.maxConnectionsPerAddress,
      Math.max(100, Math.ceil(this.max / 2)),
    );
  }

  /** Counts the connection until it closes. False, and logged, if it is one too many. */
  take(socket: EventEmitter & { readonly remoteAddress?: string | undefined }): boolean {
    const { remoteAddress } = socket;
    const network = remoteAddress === undefined ? undefined : networkOf(remoteAddress);
    const sameNetwork = network === undefined ? 0 : (this.#byNetwork.get(network) ?? 0);
    if (this.#total >= this.max || sameNetwork >= this.#maxPerAddress) {
      this.dropped();
      return false;
    }
    this.#add(network, 1);
    socket.once("close", () => this.#add(network, -1));
    return true;
  }

  /** The operating system, or Node, has closed a connection before it was counted. */
  dropped(): void {
    this.#dropped.warn();
  }

  #add(network: string | undefined, count: 1 | -1): void {
    this.#total += count;
    if (network === undefined) return;
    const left = (this.#byNetwork.get(network) ?? 0) + count;
    if (left === 0) this.#byNetwork.delete(network);
    else this.#byNetwork.set(network, left);
  }
}
