import { setImmediate } from "node:timers/promises";
import type { Link } from "callwire";
import type { NatsLinkOptions } from "callwire/nats";
import { lazyLink } from "./lazy-link.ts";
import { parseNatsAddress } from "./nats-address.ts";
import { connectTo, preparedFor } from "./nats-connection.ts";

export interface NatsUrlOptions extends Omit<NatsLinkOptions, "subject"> {
  /** Whether a broken connection heals. */
  readonly reconnect: boolean;
}

/** Calls the workers at an address of NATS; it connects when it is first used. */
export async function natsLinkFromUrl(url: string, options: NatsUrlOptions): Promise<Link> {
  const address = parseNatsAddress(url);
  // What is missing is told now; files are read again for each connection, because they may be renewed.
  await preparedFor(address);
  const { reconnect, ...own } = options;
  return lazyLink(async () => {
    const { natsLink } = await import("callwire/nats");
    const connection = await connectTo(address, reconnect);
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
        // The client of NATS stops listening to its socket as it closes. Where a server has just gone, what the link said
        // last would fail after that, and an error that nobody hears ends the process.
        await setImmediate();
        await connection.close();
      },
    };
  });
}
