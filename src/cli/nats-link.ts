import { setImmediate } from "node:timers/promises";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { type Link, WireError } from "callwire";
import type { NatsLinkOptions } from "callwire/nats";
import { Failure, oneLine } from "./failure.ts";
import { lazyLink } from "./lazy-link.ts";
import { loginOf, type NatsAddress, parseNatsAddress, tlsOf } from "./nats-address.ts";

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

/** How long one server may take to let somebody in; its client would wait for 20 s. */
const connectMs = 5_000;
/** After this the reason is asked for. It is less than health checks of a gateway wait, which log it. */
const patienceMs = 1_000;

/** What every connection needs: the client library, and what files say. Rejects with a Failure where that is missing. */
export async function preparedFor(address: NatsAddress) {
  const { connect } = await import("@nats-io/transport-node").catch((cause: unknown) => {
    throw new Failure("NATS needs a package: npm install @nats-io/transport-node", { cause });
  });
  const tls = await tlsOf(address);
  const options: NodeConnectionOptions = {
    servers: [...address.servers],
    timeout: connectMs,
    maxReconnectAttempts: -1,
    ...(await loginOf(address)),
    ...(tls === undefined ? undefined : { tls }),
  };
  return { connect, options };
}

/** A connection to NATS. Rejects with CONNECTION_FAILED, and why, where there is none. */
export async function connectTo(address: NatsAddress, reconnect: boolean): Promise<NatsConnection> {
  const { connect, options } = await preparedFor(address);
  const once = () => connect({ ...options, reconnect: false });
  const connection = reconnect ? orReason(connect({ ...options, reconnect }), once) : once();
  return connection.catch((cause: unknown) => {
    const isLate = cause instanceof Error && cause.name === "TimeoutError";
    const reason = isLate ? `no word of NATS came in ${connectMs / 1000} s` : oneLine(cause);
    const sentence = `cannot connect to nats://${address.servers.join(",")}: ${reason}`;
    throw new WireError("CONNECTION_FAILED", sentence, { cause });
  });
}

/**
 * A connection that heals hears nothing of a server that hangs up before it is let in, and waits for its time to run
 * out. One that does not heal is told at once, so where the first takes long, a second one finds out why.
 */
function orReason(
  healing: Promise<NatsConnection>,
  once: () => Promise<NatsConnection>,
): Promise<NatsConnection> {
  return new Promise((resolve, reject) => {
    let refused = false;
    const late = setTimeout(() => {
      once().then(
        (connection) => connection.close(),
        (error: unknown) => {
          refused = true;
          reject(error);
        },
      );
    }, patienceMs);
    healing
      .then((connection) => (refused ? connection.close() : resolve(connection)), reject)
      .finally(() => clearTimeout(late));
  });
}
