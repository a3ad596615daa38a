import { createServer, silentLog } from "callwire";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test, vi } from "vitest";
import { RawSocket } from "../transports/tcp/raw-socket.ts";

test("giving up calls does not walk through the calls of all callers each time", async () => {
  const server = createServer(
    { hold: () => new Promise(() => {}), echo: (value: unknown) => value },
    { log: silentLog },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  const { port } = await serveSocket(server, { port: 0 });
  const walks = vi.spyOn(server.running, "list");
  const client = new RawSocket({ port: port as number });
  const hold = [1, 2].map((id) => `{"jsonrpc":"2.0","method":"hold","id":${id}}\n`).join("");
  const cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":0}}\n';
  const echo = '{"jsonrpc":"2.0","method":"echo","params":["heard"],"id":4}\n';
  client.send(`${hold}${cancel.repeat(100)}${cancel.replace("0}", "2}")}${echo}`);
  const replies = (await client.lines(2)).map((line) => JSON.parse(line) as { id: number });
  expect(replies.sort((a, b) => a.id - b.id)).toMatchObject([
    { id: 2, error: { code: -32800 } },
    { id: 4, result: "heard" },
  ]);
  expect(walks.mock.calls.length).toBeLessThanOrEqual(1);
});
