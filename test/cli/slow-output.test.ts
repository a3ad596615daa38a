import { createServer, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { command } from "../../src/cli/commands/stream.ts";

test("stream takes no further item while its output is full", async () => {
  const server = createServer({
    count: stream({}, function* () {
      for (let n = 0; n < 5; n++) yield n;
    }),
  });
  onTestFinished(() => server.close());
  const { url } = await serveHttp(server, { port: 0 });
  const before = new Set([...process.listeners("SIGINT"), ...process.listeners("SIGTERM")]);
  let isFull = false;
  const written: unknown[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    written.push(isFull ? "while it was full" : text);
    isFull = true;
    setImmediate(() => {
      isFull = false;
      process.stdout.emit("drain");
    });
    return false;
  });
  try {
    await command.run({} as never, [url, "count"], new Map());
  } finally {
    write.mockRestore();
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      for (const listener of process.listeners(signal)) {
        if (!before.has(listener)) process.off(signal, listener);
      }
    }
  }
  expect(written).toEqual(["0\n", "1\n", "2\n", "3\n", "4\n"]);
});
