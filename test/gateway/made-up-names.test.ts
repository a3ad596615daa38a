import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createClient, type RpcError } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { beforeAll, expect, test } from "vitest";
import { Behind, start } from "./behind.ts";

const MIB = 1_048_576;
const long = "x".repeat(500_000);
const calls = 100;

let collect: () => void;

beforeAll(() => {
  setFlagsFromString("--expose-gc");
  collect = runInNewContext("gc") as typeof collect;
});

test.each<[string, (i: number) => [name: string, params: string[]]]>([
  ["long names", (i) => [`math/${i}${long}`, []]],
  ["names in long messages", (i) => [`math/somebody-made-this-up-${i}`, [long]]],
])("callers that make up %s do not fill memory", async (_, madeUp) => {
  const behind = await Behind.start({ math: { add: (a: number, b: number) => a + b } });
  const gateway = await start({
    upstreams: { one: { targets: { one: () => behind.link() }, healthCheck: false } },
    routes: [{ method: "math/*", to: "one" }],
  });
  const { port = 0 } = await serveSocket(gateway, { port: 0 });
  await using client = createClient(tcpLink({ port }));
  // Not with `rejects`, which keeps what it was given.
  const callOnce = async (i: number) => {
    const failure = await client.call(...madeUp(i)).catch((error: RpcError) => error.code);
    expect(failure).toBe(-32601);
  };
  await callOnce(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 1; i <= calls; i++) await callOnce(i);
  collect();
  // All that they sent is 50 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * MIB);
});
