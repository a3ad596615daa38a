import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { onTestFinished } from "vitest";
import { ownPort } from "../../own-port.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

/** A nats-server that can be stopped and started again, on its port and with its stored data. */
export class RestartableNats {
  readonly port: number;
  readonly #folder: string;
  #nats: NatsServer | undefined;

  private constructor(port: number, folder: string) {
    this.port = port;
    this.#folder = folder;
  }

  static async start(): Promise<RestartableNats> {
    const folder = mkdtempSync(join(tmpdir(), "callwire-lasting-"));
    const testNats = new RestartableNats(await ownPort(), folder);
    onTestFinished(async () => {
      await testNats.#nats?.stop();
      rmSync(folder, { recursive: true, force: true });
    });
    await testNats.start();
    return testNats;
  }

  /** Resolves when it runs, and these connections are restored. */
  async start(...connections: readonly NatsConnection[]): Promise<void> {
    const noticed = connections.map((each) => happens(each, "reconnect"));
    const config = `jetstream: { store_dir: "${this.#folder}" }`;
    this.#nats = await startNats(config, { port: this.port });
    await Promise.all(noticed);
  }

  /** Resolves when it has stopped, and these connections have noticed. */
  async stop(...connections: readonly NatsConnection[]): Promise<void> {
    const noticed = connections.map((each) => happens(each, "disconnect"));
    await this.#nats?.terminate();
    await Promise.all(noticed);
  }

  /** Copies its stored data; it must be stopped. The returned function restores them. */
  snapshot(): () => void {
    const copy = `${this.#folder}-copy`;
    cpSync(this.#folder, copy, { recursive: true });
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    return () => {
      rmSync(this.#folder, { recursive: true, force: true });
      cpSync(copy, this.#folder, { recursive: true });
    };
  }

  /** Reconnects soon by itself. */
  async connect(): Promise<NatsConnection> {
    const patience = { reconnectTimeWait: 20, maxReconnectAttempts: -1 };
    const connection = await connect({ port: this.port, ...patience });
    onTestFinished(() => connection.close());
    return connection;
  }
}

async function happens(connection: NatsConnection, type: string): Promise<void> {
  for await (const status of connection.status()) if (status.type === type) return;
}
