import { createClient, createServer, type Link } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";

/** Many times as many as may be in flight. */
const calls = 200;
const text = "x".repeat(20_000);

interface Served extends AsyncDisposable {
  readonly link: Link;
}

const wires: [string, (service: ReturnType<typeof server>) => Promise<Served>][] = [
  [
    "TCP",
    async (service) => {
      const served = await serveSocket(service, { port: 0 });
      const link = tcpLink({ port: served.port as number });
      return { link, [Symbol.asyncDispose]: () => served.close() };
    },
  ],
  [
    "WebSocket",
    async (service) => {
      const served = await serveHttp(service, { port: 0 });
      const link = webSocketLink(`ws://127.0.0.1:${served.port}/rpc/ws`);
      return { link, [Symbol.asyncDispose]: () => served.close() };
    },
  ],
];

let most = 0;
let running = 0;

function server() {
  const size = async (value: string) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return value.length;
  };
  // About ten of them.
  return createServer({ size }, { limits: { maxInFlightBytes: 1_000_000 } });
}

test.each(wires)(
  "calls that hold too much memory together wait, and all run, over %s",
  async (_, serve) => {
    most = 0;
    await using served = await serve(server());
    await using client = createClient(served.link);
    const sizes = await Promise.all(
      Array.from({ length: calls }, () => client.call("size", [text])),
    );
    expect(new Set(sizes)).toEqual(new Set([text.length]));
    expect(most).toBeLessThan(25);
  },
);
