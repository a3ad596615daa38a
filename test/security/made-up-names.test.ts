import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createClient, createServer, type RpcError } from "callwire";
import { authorize } from "callwire/security";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";

const MIB = 1_048_576;
const long = "x".repeat(500_000);
const calls = 100;

test("callers that make up names in long messages do not fill memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const server = createServer({}, { use: [authorize({ allow: [{ methods: "docs/*" }] })] });
  onTestFinished(() => server.close());
  const { port = 0 } = await serveSocket(server, { port: 0 });
  await using client = createClient(tcpLink({ port }));
  // Not with `rejects`, which keeps what it was given.
  const callOnce = async (i: number) => {
    const made = client.call(`docs-that-somebody-made-up-${i}`, [long]);
    expect(await made.catch((error: RpcError) => error.code)).toBe(-32004);
  };
  await callOnce(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 1; i <= calls; i++) await callOnce(i);
  collect();
  // All that they sent is 50 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10 * MIB);
});
