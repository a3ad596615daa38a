import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { type Front, Proxies } from "../contract.ts";

export const sseFront: Front = {
  duplex: false,
  streams: "buffers",
  inFlight: 200,
  async serve(service) {
    const http = await serveHttp(service, { port: 0, graceMs: 20 });
    const proxies = new Proxies({ port: http.port });
    return {
      async connect() {
        const proxy = await proxies.open();
        const link = sseLink(`http://127.0.0.1:${proxy.port}/rpc`, { maxResumes: 0 });
        return { link, kill: () => proxy.close() };
      },
      async exchange(text) {
        const response = await fetch(http.url, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "text/event-stream" },
          body: text,
        });
        const body = await response.text();
        if (response.headers.get("content-type") !== "text/event-stream") return body || undefined;
        return /(?:^|\n)data: (.*)\n\n$/.exec(body)?.[1];
      },
      close: () => service.close(),
      async kill() {
        proxies.close();
        await service.close({ drainMs: 0 });
      },
    };
  },
};
