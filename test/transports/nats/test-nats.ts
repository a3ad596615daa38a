import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { createServer, type Methods, type Server, type ServerOptions, silentLog } from "callwire";
import { type NatsWorker, type ServeNatsOptions, serveNats } from "callwire/nats";
import { expect, onTestFinished } from "vitest";
import { waitMs } from "../../limits.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

/** For NATS's own requests, whose default timeout is a second. */
export const patient: { readonly timeout: number } = { timeout: waitMs };

/**
 * nats-server notices a moment later that a connection is gone; until then it sends messages to it.
 */
export async function nobodyHears(connection: NatsConnection, subject: string): Promise<void> {
  const asked = () => connection.request(subject, "", { timeout: 1_000 });
  await expect.poll(() => asked().catch((error: Error) => error.message)).toMatch(/no responders/);
}

/** A nats-server for one test, and its connections; all of it ends with the test. */
export class TestNats {
  readonly nats: NatsServer;

  private constructor(nats: NatsServer) {
    this.nats = nats;
  }

  static async start(config?: string): Promise<TestNats> {
    const nats = await startNats(config);
    onTestFinished(() => nats.stop());
    return new TestNats(nats);
  }

  async connect(options: NodeConnectionOptions = {}): Promise<NatsConnection> {
    const connection = await connect({ port: this.nats.port, ...options });
    onTestFinished(() => connection.close());
    return connection;
  }

  /** A worker with its own connection. */
  async serve<M extends Methods>(
    methods: M,
    options: Partial<ServeNatsOptions> & { readonly server?: ServerOptions } = {},
  ): Promise<{ server: Server<M>; worker: NatsWorker; connection: NatsConnection }> {
    const server = createServer(methods, { log: silentLog, ...options.server });
    const connection = await this.connect();
    const worker = await serveNats(server, connection, { subject: "test", ...options });
    onTestFinished(() => server.close({ drainMs: 0 }));
    return { server, worker, connection };
  }
}
