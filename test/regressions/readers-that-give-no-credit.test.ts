import { once } from "node:events";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import type { Outgoing } from "callwire";
import { connectSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";

test("a reader that never sends credit gets items of any length", async () => {
  const value = "x".repeat(100_000);
  const item = JSON.stringify({ jsonrpc: "2.0", method: "$/stream", params: { id: 1, value } });
  const reply = JSON.stringify({ jsonrpc: "2.0", result: null, id: 1 });
  const count = 100;
  // It does not wait for credit either.
  const server = createNetServer((socket) => {
    socket.once("data", () => socket.write(`${`${item}\n`.repeat(count)}${reply}\n`));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await using connection = await connectSocket({ port, limits: { maxMessageBytes: 110_000 } });
  let came = 0;
  const outgoing: Outgoing = {
    cancel: undefined,
    headers: undefined,
    idempotent: false,
    item: () => {
      came++;
      return undefined;
    },
    progress() {},
    gap() {},
  };
  await connection.send({ jsonrpc: "2.0", method: "count", params: undefined, id: 1 }, outgoing);
  expect(came).toBe(count);
});
