import { connect, type NatsConnection } from "@nats-io/transport-node";
import { natsLink, serveNats } from "callwire/nats";
import { afterAll, beforeAll } from "vitest";
import { describeWith } from "../../services.ts";
import {
  describeTransport,
  type Fixture,
  type Host,
  Inbox,
  serverOf,
  startProxy,
} from "../contract.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

/** How soon an end notices that another is gone. */
const aliveMs = 100;

describeWith(["nats-server"], "with a server of NATS", () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(() => nats.stop());

  let subjects = 0;

  async function start(fixture: Fixture): Promise<Host> {
    const subject = `contract.s${++subjects}`;
    // Everybody comes through a proxy, which can break what is between them.
    const cuts: (() => void)[] = [];
    const opened: NatsConnection[] = [];
    const connected = async () => {
      const proxy = await startProxy({ port: nats.port });
      cuts.push(() => proxy.close());
      const connection = await connect({ port: proxy.port, reconnect: false });
      opened.push(connection);
      return { connection, kill: () => proxy.close() };
    };
    const server = serverOf(fixture);
    const { connection: own } = await connected();
    await serveNats(server, own, { subject, aliveMs });
    return {
      async connect(service) {
        const { connection, kill } = await connected();
        return { link: natsLink(connection, { subject, service, aliveMs }), kill };
      },
      async raw() {
        const { connection, kill } = await connected();
        const inbox = new Inbox();
        const reply = `_INBOX.raw${++subjects}`;
        connection.subscribe(reply, { callback: (_, message) => inbox.push(message.string()) });
        void connection.closed().then(() => inbox.end());
        await connection.flush();
        return {
          send: (text) => connection.publish(`${subject}.$any`, text, { reply }),
          sendBytes: (body) => connection.publish(`${subject}.$any`, body, { reply }),
          inbox,
          pause() {},
          kill,
        };
      },
      close: () => server.close(),
      async kill() {
        for (const cut of cuts) cut();
        await server.close({ drainMs: 0 });
        await Promise.all(opened.map((connection) => connection.close()));
      },
    };
  }

  describeTransport("NATS", { bytes: true, garbage: "answer", measured: false, start });
});
