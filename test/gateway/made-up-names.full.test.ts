import { createClient, type RpcError } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, test } from "vitest";
import { heapUsed } from "../heap.ts";
import { Behind, start } from "./behind.ts";

const MIB = 1_048_576;
const long = "x".repeat(500_000);
const calls = 100;

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
  // Not with `rejects`, which keeps its argument.
  const callOnce = async (i: number) => {
    const failure = await client.call(...madeUp(i)).catch((error: RpcError) => error.code);
    expect(failure).toBe(-32601);
  };
  await callOnce(0);
  const before = heapUsed();
  for (let i = 1; i <= calls; i++) await callOnce(i);
  // The names together have 50 MB.
  expect(heapUsed() - before).toBeLessThan(10 * MIB);
});
