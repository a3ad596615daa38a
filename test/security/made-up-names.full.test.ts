import { createClient, createServer, type RpcError } from "callwire";
import { authorize } from "callwire/security";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { heapUsed } from "../heap.ts";

const MIB = 1_048_576;
const long = "x".repeat(500_000);
const calls = 100;

test("callers that make up names in long messages do not fill memory", async () => {
  const server = createServer({}, { use: [authorize({ allow: [{ methods: "docs/*" }] })] });
  onTestFinished(() => server.close());
  const { port = 0 } = await serveSocket(server, { port: 0 });
  await using client = createClient(tcpLink({ port }));
  // Not with `rejects`, which keeps its argument.
  const callOnce = async (i: number) => {
    const made = client.call(`docs-that-somebody-made-up-${i}`, [long]);
    expect(await made.catch((error: RpcError) => error.code)).toBe(-32004);
  };
  await callOnce(0);
  const before = heapUsed();
  for (let i = 1; i <= calls; i++) await callOnce(i);
  // The names together have 50 MB.
  expect(heapUsed() - before).toBeLessThan(10 * MIB);
});
