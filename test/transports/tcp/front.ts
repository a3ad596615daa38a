import { connect } from "node:net";
import { type Framing, lengthPrefixFraming, newlineFraming } from "callwire/framing";
import { connectSocket, serveSocket } from "callwire/tcp";
import { blankLine, type Front, Proxies, rawStream } from "../contract.ts";
import { freePath } from "./free-path.ts";

export function tcpFront(framing: Framing = newlineFraming): Front {
  return socketFront(framing, () => ({ port: 0 }));
}

export const unixFront: Front = socketFront(newlineFraming, () => ({ path: freePath() }));

function socketFront(
  framing: Framing,
  place: () => { readonly port: number } | { readonly path: string },
): Front {
  return {
    oversize: "cut",
    bytes: true,
    beside: framing === lengthPrefixFraming,
    ...(framing === newlineFraming ? { except: blankLine } : undefined),
    async serve(service) {
      const socket = await serveSocket(service, { ...place(), framing });
      const proxies = new Proxies({ port: socket.port as number, path: socket.path as string });
      return {
        async connect(service) {
          const proxy = await proxies.open();
          const link = await connectSocket({ port: proxy.port, framing, service });
          return { link, kill: () => proxy.close() };
        },
        async raw() {
          const { port } = await proxies.open();
          return rawStream(connect(port, "127.0.0.1"), framing);
        },
        close: () => service.close(),
        async kill() {
          proxies.close();
          await service.close({ drainMs: 0 });
        },
      };
    },
  };
}
