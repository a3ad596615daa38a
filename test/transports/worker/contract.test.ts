import { MessageChannel, type MessagePort } from "node:worker_threads";
import { portLink, servePort } from "callwire/worker";
import { describeTransport, Inbox, serverOf } from "../contract.ts";

describeTransport("a message port", {
  measured: false,
  async start(fixture) {
    const server = serverOf(fixture);
    const ports: MessagePort[] = [];
    const serve = (): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      servePort(server, port1);
      ports.push(port2);
      return port2;
    };
    return {
      connect(service) {
        const port = serve();
        return { link: portLink(port, { service }), kill: () => port.close() };
      },
      raw() {
        const port = serve();
        const inbox = new Inbox();
        port.on("message", (value: unknown) => {
          if (typeof value === "string") inbox.push(value);
        });
        port.on("close", () => inbox.end());
        return {
          send: (text) => port.postMessage(text),
          inbox,
          pause: () => {},
          kill: () => port.close(),
        };
      },
      close: () => server.close(),
      kill() {
        for (const port of ports) port.close();
      },
    };
  },
});
