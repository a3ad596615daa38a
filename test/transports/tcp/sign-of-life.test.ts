import { createServer as createNetServer, type Socket } from "node:net";
import { connectSocket } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";

/** A server that answers only when the test says so, and the connection to it. */
async function silentServer() {
  const clock = new FakeClock();
  const heard: string[] = [];
  let changed = (): void => {};
  let accept: (socket: Socket) => void = () => {};
  const accepted = new Promise<Socket>((resolve) => {
    accept = resolve;
  });
  const server = createNetServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      heard.push(...chunk.toString().trim().split("\n"));
      changed();
    });
    accept(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const connection = await connectSocket({ port, clock });
  const socket = await accepted;
  onTestFinished(async () => {
    await connection.close();
    server.close();
    socket.destroy();
  });
  return {
    clock,
    connection,
    /** The next message that the client sends. */
    async next(): Promise<{ method: string; id: number }> {
      while (heard.length === 0) {
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
      return JSON.parse(heard.shift() as string);
    },
    get unread(): number {
      return heard.length;
    },
    answer: (message: object) => socket.write(`${JSON.stringify(message)}\n`),
  };
}

test("a silent server is pinged, and any answer keeps the connection", async () => {
  const server = await silentServer();
  for (let round = 0; round < 3; round++) {
    server.clock.advance(30_000);
    const { method, id } = await server.next();
    expect(method).toBe("$/ping");
    server.answer({ jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id });
    while (server.connection.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(server.connection.isOpen).toBe(true);
});

test("a server that sends nothing for too long counts as lost", async () => {
  const server = await silentServer();
  server.clock.advance(30_000);
  expect((await server.next()).method).toBe("$/ping");
  const call = expect(server.connection.call("late")).rejects.toMatchObject({
    code: "CONNECTION_LOST",
    message: "the peer does not answer pings",
  });
  server.clock.advance(10_000);
  await call;
});

test("a server that works on a call is not pinged", async () => {
  const server = await silentServer();
  const call = server.connection.call("slow");
  const { id } = await server.next();
  server.clock.advance(600_000);
  server.answer({ jsonrpc: "2.0", result: "done", id });
  expect(await call).toBe("done");
  expect(server.unread).toBe(0);
});
