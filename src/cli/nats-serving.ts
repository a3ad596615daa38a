import { type Host, WireError } from "callwire";
import { Failure, oneLine } from "./failure.ts";
import { type NatsAddress, parseNatsAddress } from "./nats-address.ts";
import { connectTo } from "./nats-link.ts";

/** Serves the methods as a worker on NATS. Returns the address without secrets. */
export async function serveNatsUrl(server: Host, url: string): Promise<string> {
  const address = addressOf(url);
  try {
    const connection = await connectTo(address, true);
    const { serveNats } = await import("callwire/nats");
    await serveNats(server, connection, { subject: address.subject });
    server.onClose(() => connection.close());
  } catch (error) {
    throw error instanceof WireError ? new Failure(`--nats: ${oneLine(error)}`) : error;
  }
  return `nats://${address.servers.join(",")}/${address.subject}`;
}

function addressOf(url: string): NatsAddress {
  try {
    return parseNatsAddress(url);
  } catch (error) {
    throw new Failure(`--nats: ${oneLine(error)}`, { cause: error });
  }
}
