import { type Link, WireError } from "callwire";
import type { NatsLinkOptions } from "callwire/nats";
import { Failure } from "./failure.ts";
import { lazyLink } from "./lazy-link.ts";
import { loginOf, parseNatsAddress, tlsOf } from "./nats-address.ts";

export interface NatsUrlOptions extends Omit<NatsLinkOptions, "subject"> {
  /** Whether a broken connection heals. */
  readonly reconnect: boolean;
}

/** Calls the workers at an address of NATS; it connects when it is first used. */
export function natsLinkFromUrl(url: string, options: NatsUrlOptions): Link {
  const address = parseNatsAddress(url);
  const { reconnect, ...own } = options;
  return lazyLink(async () => {
    const { connect } = await import("@nats-io/transport-node").catch((cause: unknown) => {
      throw new Failure("NATS needs a package: npm install @nats-io/transport-node", { cause });
    });
    const { natsLink } = await import("callwire/nats");
    const tls = await tlsOf(address);
    const connection = await connect({
      servers: [...address.servers],
      reconnect,
      maxReconnectAttempts: -1,
      ...(await loginOf(address)),
      ...(tls === undefined ? undefined : { tls }),
    }).catch((cause: Error) => {
      const sentence = `cannot connect to nats://${address.servers.join(",")}: ${cause.message}`;
      throw new WireError("CONNECTION_FAILED", sentence, { cause });
    });
    let link: Link;
    try {
      link = natsLink(connection, { ...own, subject: address.subject });
    } catch (error) {
      // Nobody else knows of the connection, which would stay for good.
      await connection.close();
      throw error;
    }
    return {
      send: (request, outgoing) => link.send(request, outgoing),
      sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
      // It heals by itself, but not where a server refused it twice.
      over: connection.closed(),
      async close() {
        await link.close();
        await connection.close();
      },
    };
  });
}
