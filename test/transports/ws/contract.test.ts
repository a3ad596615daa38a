import { connectWebSocket } from "callwire/ws";
import { describeTransport, serverOf, startProxy } from "../contract.ts";
import { rawSocket, serveService } from "./serving.ts";

describeTransport("WebSocket", {
  oversize: "cut",
  async start(fixture) {
    const { server, port, url, kill } = await serveService(serverOf(fixture));
    return {
      async connect(service) {
        const proxy = await startProxy({ port, host: "127.0.0.1" });
        const address = `ws://127.0.0.1:${proxy.port}`;
        const link = await connectWebSocket(address, service === undefined ? {} : { service });
        return { link, kill: () => proxy.close() };
      },
      async raw() {
        const { ws, inbox } = await rawSocket(url);
        return {
          send: (text) => ws.send(text),
          inbox,
          pause: () => ws.pause(),
          kill: () => ws.terminate(),
        };
      },
      close: () => server.close(),
      kill,
    };
  },
});
