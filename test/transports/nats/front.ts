import { connect, type NatsConnection } from "@nats-io/transport-node";
import { natsLink, serveNats } from "callwire/nats";
import { type Front, Inbox, Proxies } from "../contract.ts";
import type { NatsServer } from "./nats-server.ts";
import { NatsTime } from "./nats-time.ts";

/** How soon one side notices that the other is gone. */
const aliveMs = 100;
let subjects = 0;

/** NATS with a nats-server that has been started before anything is served. */
export function natsFront(testNats: () => NatsServer): Front {
  const clock = new NatsTime(testNats);
  return {
    bytes: true,
    garbage: "answer",
    measured: false,
    async serve(service) {
      const subject = `contract.s${++subjects}`;
      const proxies = new Proxies({ port: testNats().port });
      const opened: NatsConnection[] = [];
      const connected = async () => {
        const proxy = await proxies.open();
        const connection = await connect({ port: proxy.port, reconnect: false });
        opened.push(connection);
        return { connection, kill: () => proxy.close() };
      };
      const { connection: own } = await connected();
      await serveNats(service, own, { subject, aliveMs, clock });
      return {
        async connect(service) {
          const { connection, kill } = await connected();
          return { link: natsLink(connection, { subject, service, aliveMs, clock }), kill };
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
        close: () => service.close(),
        async kill() {
          proxies.close();
          await service.close({ drainMs: 0 });
          await Promise.all(opened.map((connection) => connection.close()));
        },
      };
    },
  };
}
