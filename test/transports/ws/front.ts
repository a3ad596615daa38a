import { connectWebSocket } from "callwire/ws";
import { type Front, Proxies } from "../contract.ts";
import { rawSocket, serveService } from "./serving.ts";

export const wsFront: Front = wsFrontWith({});

/** The contract counts what fits into the buffers of a peer that does not read. */
const plain = { perMessageDeflate: false };

/** Both sides with the same option. */
export function wsFrontWith({ compress = false }: { readonly compress?: boolean }): Front {
  return {
    oversize: "cut",
    beside: true,
    async serve(service) {
      const { port, url, kill } = await serveService(service, { compress });
      const proxies = new Proxies({ port, host: "127.0.0.1" });
      return {
        async connect(service) {
          const proxy = await proxies.open();
          const address = `ws://127.0.0.1:${proxy.port}`;
          const link = await connectWebSocket(address, { compress, service });
          return { link, kill: () => proxy.close() };
        },
        async raw() {
          const { ws, inbox } = await rawSocket(url, plain);
          return {
            send: (text) => ws.send(text),
            inbox,
            pause: () => ws.pause(),
            kill: () => ws.terminate(),
          };
        },
        close: () => service.close(),
        kill() {
          proxies.close();
          kill();
        },
      };
    },
  };
}
