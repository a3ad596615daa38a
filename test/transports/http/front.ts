import type { Link } from "callwire";
import { httpLink } from "callwire/http";
import { type ServeHttpOptions, serveHttp } from "callwire/http/node";
import { type Front, Proxies } from "../contract.ts";

/** HTTP, called over a link that the test makes from an address. */
export function httpFront(
  linkTo: (url: string) => Link = httpLink,
  options: ServeHttpOptions = {},
): Front {
  return {
    duplex: false,
    beside: true,
    streams: "buffers",
    uploads: "buffers",
    inFlight: 200,
    async serve(service) {
      const http = await serveHttp(service, { port: 0, ...options });
      const proxies = new Proxies({ port: http.port });
      let opened: ReturnType<typeof proxies.open> | undefined;
      const way = () => {
        opened ??= proxies.open();
        return opened;
      };
      return {
        async connect() {
          const proxy = await proxies.open();
          return { link: linkTo(`http://127.0.0.1:${proxy.port}/rpc`), kill: () => proxy.close() };
        },
        async exchange(text) {
          const { port } = await way();
          const headers = { "content-type": "application/json" };
          const init = { method: "POST", headers, body: text };
          const response = await fetch(`http://127.0.0.1:${port}/rpc`, init);
          return response.status === 204 ? undefined : response.text();
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
