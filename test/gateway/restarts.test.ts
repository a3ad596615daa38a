import { createServer, type Link, type Server, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { turn } from "../transports/contract-methods.ts";
import { clientOf, start } from "./behind.ts";

interface Wire {
  readonly serve: (server: Server, port: number) => Promise<unknown>;
  /** A link that does not reconnect, as the command line makes it. */
  readonly link: (port: number) => Link;
}

const reconnect = { attempts: 0 };

const wires: Readonly<Record<string, Wire>> = {
  HTTP: {
    serve: (server, port) => serveHttp(server, { port }),
    link: (port) => httpLink(`http://127.0.0.1:${port}/rpc`),
  },
  WebSocket: {
    serve: (server, port) => serveHttp(server, { port }),
    link: (port) => webSocketLink(`ws://127.0.0.1:${port}/rpc`, { reconnect }),
  },
  TCP: {
    serve: (server, port) => serveSocket(server, { port }),
    link: (port) => tcpLink({ port, reconnect }),
  },
};

test.each(Object.entries(wires))(
  "restarts of all targets one by one, over %s and under load, fail no call and run none twice",
  async (_, { serve, link }) => {
    const runs = new Map<number, number>();
    const write = async (n: number): Promise<number> => {
      runs.set(n, (runs.get(n) ?? 0) + 1);
      for (let turns = n % 5; turns > 0; turns--) await turn();
      return n;
    };
    const servers: Server[] = [];
    const ports = await Promise.all([ownPort(), ownPort()]);
    const begin = async (i: number): Promise<void> => {
      const server = createServer({ write }, { log: silentLog });
      servers[i] = server;
      await serve(server, ports[i] as number);
    };
    await Promise.all(ports.map((_, i) => begin(i)));
    onTestFinished(() => Promise.all(servers.map((server) => server.close())).then(() => {}));
    const targets = Object.fromEntries(ports.map((port) => [`${port}`, () => link(port)]));
    const gateway = await start({
      // So a server that is back is called again at once, and on a slow machine no check finds one
      // away.
      upstreams: { all: { targets, circuitBreaker: { coolDownMs: 10 }, healthCheck: false } },
      routes: [{ method: "*", to: "all" }],
    });
    const client = clientOf(gateway);
    let [made, restarting] = [0, true];
    const callers = Array.from({ length: 16 }, async () => {
      while (restarting) {
        const n = made++;
        expect(await client.call("write", [n])).toBe(n);
      }
    });
    const restarts = async (): Promise<void> => {
      for (let round = 0; round < 10; round++) {
        const before = made;
        while (made < before + 200) await turn();
        await servers[round % 2]?.close();
        await begin(round % 2);
      }
      restarting = false;
    };
    await Promise.all([...callers, restarts()]);
    expect([...runs.values()].filter((times) => times !== 1)).toEqual([]);
    expect(runs.size).toBe(made);
  },
);
