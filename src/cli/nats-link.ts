import { setImmediate } from "node:timers/promises";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { type Link, WireError } from "callwire";
import type { NatsLinkOptions } from "callwire/nats";
import type { DurableLinkOptions } from "callwire/nats/jetstream";
import { Failure, oneLine } from "./failure.ts";
import { lazyLink, type OpenedLink } from "./lazy-link.ts";
import { loginOf, type NatsAddress, parseNatsAddress, tlsOf } from "./nats-address.ts";

export interface NatsUrlOptions extends Omit<NatsLinkOptions, "subject"> {
  /** Whether a broken connection reconnects. */
  readonly reconnect: boolean;
}

/** Calls the workers at a NATS address; connects on first use. */
export async function natsLinkFromUrl(url: string, options: NatsUrlOptions): Promise<Link> {
  const address = parseNatsAddress(url);
  // Fail early; each connection reads the files again, because they may be renewed.
  await preparedFor(address);
  const { reconnect, ...own } = options;
  return lazyLink(async () => {
    const { natsLink } = await import("callwire/nats");
    const connection = await connectTo(address, reconnect);
    return owning(connection, () => natsLink(connection, { ...own, subject: address.subject }));
  });
}

/** Stores notifications in the durable queue at a NATS address. */
export async function durableLinkFromUrl(
  url: string,
  options: Omit<DurableLinkOptions, "subject">,
): Promise<OpenedLink> {
  const address = parseNatsAddress(url);
  const { durableLink } = await import("callwire/nats/jetstream").catch((cause: unknown) => {
    throw new Failure("durable queues need a package: npm install @nats-io/jetstream", { cause });
  });
  const connection = await connectTo(address, true);
  return owning(connection, () =>
    durableLink(connection, { ...options, subject: address.subject }),
  );
}

/** A link that closes its connection. */
async function owning(connection: NatsConnection, make: () => Link): Promise<OpenedLink> {
  let link: Link;
  try {
    link = make();
  } catch (error) {
    // Otherwise the connection would stay open.
    await connection.close();
    throw error;
  }
  return {
    send: (request, outgoing) => link.send(request, outgoing),
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    // The connection reconnects by itself, unless nats-server rejects it twice.
    over: connection.closed(),
    async close() {
      await link.close();
      // On close the NATS client removes its socket listeners; a late write error would then end the process.
      await setImmediate();
      await connection.close();
    },
  };
}

/** Limit for connecting to one server; the default of the NATS client is 20 s. */
const connectMs = 5_000;
/** Delay before asking for the reason; shorter than the health checks of a gateway, which log it. */
const reasonDelayMs = 1_000;

/** Loads the NATS client and the files of the address; rejects with a Failure if one is missing. */
export async function preparedFor(address: NatsAddress) {
  const { connect } = await import("@nats-io/transport-node").catch((cause: unknown) => {
    throw new Failure("NATS addresses need a package: npm install @nats-io/transport-node", {
      cause,
    });
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

/** Connects to NATS; rejects with CONNECTION_FAILED and the reason. */
export async function connectTo(address: NatsAddress, reconnect: boolean): Promise<NatsConnection> {
  const { connect, options } = await preparedFor(address);
  const once = () => connect({ ...options, reconnect: false });
  const connection = reconnect ? withReason(connect({ ...options, reconnect }), once) : once();
  return connection.catch((cause: unknown) => {
    const isLate = cause instanceof Error && cause.name === "TimeoutError";
    const reason = isLate
      ? `no reply from nats-server within ${connectMs / 1000} s`
      : oneLine(cause);
    const message = `cannot connect to nats://${address.servers.join(",")}: ${reason}`;
    throw new WireError("CONNECTION_FAILED", message, { cause });
  });
}

/**
 * A reconnecting client does not report why nats-server rejects it, only a timeout. If it takes long, a second
 * connection without reconnect finds the reason.
 */
function withReason(
  reconnecting: Promise<NatsConnection>,
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
    }, reasonDelayMs);
    reconnecting
      .then((connection) => (refused ? connection.close() : resolve(connection)), reject)
      .finally(() => clearTimeout(late));
  });
}
