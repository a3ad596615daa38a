import { type Link, WireError } from "callwire";
import type { NatsLinkOptions } from "callwire/nats";
import { Failure } from "./failure.ts";
import { lazyLink } from "./lazy-link.ts";

export interface NatsUrlOptions extends Omit<NatsLinkOptions, "subject"> {
  /** Whether a broken connection heals. */
  readonly reconnect: boolean;
}

/** Calls the workers at `nats://user:password@host:port/subject`; it connects when it is first used. */
export function natsLinkFromUrl(url: string, options: NatsUrlOptions): Link {
  const { hostname, port, pathname, username, password } = new URL(url);
  const { reconnect, ...own } = options;
  const subject = decodeURIComponent(pathname.slice(1));
  if (subject === "") throw new TypeError("the subject is missing, as in nats://127.0.0.1/rpc");
  return lazyLink(async () => {
    const { connect } = await import("@nats-io/transport-node").catch((cause: unknown) => {
      throw new Failure("NATS needs a package: npm install @nats-io/transport-node", { cause });
    });
    const { natsLink } = await import("callwire/nats");
    const servers = `${hostname}:${port === "" ? 4222 : port}`;
    const connection = await connect({
      servers,
      reconnect,
      maxReconnectAttempts: -1,
      ...(username === "" ? undefined : { user: decodeURIComponent(username) }),
      ...(password === "" ? undefined : { pass: decodeURIComponent(password) }),
    }).catch((cause: Error) => {
      const sentence = `cannot connect to nats://${servers}: ${cause.message}`;
      throw new WireError("CONNECTION_FAILED", sentence, { cause });
    });
    const link = natsLink(connection, { ...own, subject });
    return {
      send: (request, outgoing) => link.send(request, outgoing),
      sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
      async close() {
        await link.close();
        await connection.close();
      },
    };
  });
}
