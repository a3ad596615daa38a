import { MessageChannel, type MessagePort } from "node:worker_threads";
import { portLink, servePort } from "callwire/worker";
import { type Front, Inbox } from "../contract.ts";

export const portFront: Front = {
  measured: false,
  beside: true,
  async serve(service) {
    const ports: MessagePort[] = [];
    const open = (): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      servePort(service, port1);
      ports.push(port2);
      return port2;
    };
    return {
      connect(service) {
        const port = open();
        return { link: portLink(port, { service }), kill: () => port.close() };
      },
      raw() {
        const port = open();
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
      close: () => service.close(),
      kill() {
        for (const port of ports) port.close();
      },
    };
  },
};
