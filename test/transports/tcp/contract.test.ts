import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  contentLengthFraming,
  type Framing,
  lengthPrefixFraming,
  newlineFraming,
} from "callwire/framing";
import { connectSocket, serveSocket } from "callwire/tcp";
import { afterAll } from "vitest";
import {
  describeTransport,
  type Fixture,
  type Host,
  rawStream,
  serverOf,
  startProxy,
} from "../contract.ts";

const folder = mkdtempSync(join(tmpdir(), "callwire-"));
afterAll(() => rmSync(folder, { recursive: true }));
let paths = 0;

async function start(
  fixture: Fixture,
  framing: Framing,
  where: { port: number } | { path: string },
): Promise<Host> {
  const server = serverOf(fixture);
  const socket = await serveSocket(server, { ...where, framing });
  const target = { port: socket.port as number, path: socket.path as string };
  // Everybody comes through a proxy, which can break what is between them.
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  const proxied = async () => {
    const proxy = await startProxy(target);
    proxies.push(proxy);
    return proxy;
  };
  return {
    async connect(service) {
      const proxy = await proxied();
      const link = await connectSocket({ port: proxy.port, framing, service });
      return { link, kill: () => proxy.close() };
    },
    async raw() {
      const { port } = await proxied();
      return rawStream(connect(port, "127.0.0.1"), framing);
    },
    close: () => server.close(),
    async kill() {
      for (const proxy of proxies) proxy.close();
      await server.close({ drainMs: 0 });
    },
  };
}

/** A blank line is no message. */
const except = ["An empty text is a parse error"];

describeTransport("TCP with lines", {
  oversize: "cut",
  except,
  bytes: true,
  start: (fixture) => start(fixture, newlineFraming, { port: 0 }),
});

describeTransport("TCP with Content-Length", {
  oversize: "cut",
  bytes: true,
  start: (fixture) => start(fixture, contentLengthFraming, { port: 0 }),
});

describeTransport("TCP with a length in front", {
  oversize: "cut",
  bytes: true,
  start: (fixture) => start(fixture, lengthPrefixFraming, { port: 0 }),
});

describeTransport("a unix socket", {
  oversize: "cut",
  except,
  bytes: true,
  start: (fixture) => start(fixture, newlineFraming, { path: join(folder, `${paths++}.sock`) }),
});
