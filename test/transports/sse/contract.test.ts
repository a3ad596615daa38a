import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { describeTransport, type Fixture, type Host, serverOf, startProxy } from "../contract.ts";

async function start(fixture: Fixture): Promise<Host> {
  const server = serverOf(fixture);
  const http = await serveHttp(server, { port: 0, graceMs: 20 });
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  return {
    async connect() {
      const proxy = await startProxy({ port: http.port });
      proxies.push(proxy);
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
    close: () => server.close(),
    async kill() {
      for (const proxy of proxies) proxy.close();
      await server.close({ drainMs: 0 });
    },
  };
}

describeTransport("server-sent events", {
  duplex: false,
  streams: "buffers",
  inFlight: 200,
  start,
});
