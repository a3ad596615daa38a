import type { Link } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { httpLink as fetchLink } from "../../../src/transports/http/client.ts";
import { describeTransport, type Fixture, type Host, serverOf, startProxy } from "../contract.ts";

async function start(fixture: Fixture, linkTo: (url: string) => Link): Promise<Host> {
  const server = serverOf(fixture);
  const http = await serveHttp(server, { port: 0 });
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  return {
    async connect() {
      const proxy = await startProxy({ port: http.port });
      proxies.push(proxy);
      return { link: linkTo(`http://127.0.0.1:${proxy.port}/rpc`), kill: () => proxy.close() };
    },
    async exchange(text) {
      const headers = { "content-type": "application/json" };
      const response = await fetch(http.url, { method: "POST", headers, body: text });
      return response.status === 204 ? undefined : response.text();
    },
    close: () => server.close(),
    async kill() {
      for (const proxy of proxies) proxy.close();
      await server.close({ drainMs: 0 });
    },
  };
}

const wire = { duplex: false, streams: "buffers", inFlight: 200 } as const;

describeTransport("HTTP", { ...wire, start: (fixture) => start(fixture, httpLink) });

describeTransport("HTTP with fetch", { ...wire, start: (fixture) => start(fixture, fetchLink) });
