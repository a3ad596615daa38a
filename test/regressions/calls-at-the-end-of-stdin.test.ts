import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createServer, method, silentLog } from "callwire";
import { mcpServer, serveMcpStdio } from "callwire/mcp";
import { serveStdio } from "callwire/stdio";
import { describe, expect, test } from "vitest";
import { MetaKey } from "../../src/mcp/meta-keys.ts";

const endless = new Promise(() => {});

/** Everything that a server replies to these lines, the last of its input. */
async function replies(
  serve: (streams: { input: PassThrough; output: PassThrough }) => unknown,
  ...lines: object[]
): Promise<unknown[]> {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  serve(streams);
  streams.input.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const all = await text(streams.output);
  return all
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

// They had no reply at all.
describe("calls that take longer than drainMs after the end of the input", () => {
  const stopped = { code: -32006, data: { ran: true, reason: "stopping" } };

  test("are answered with -32006, and their signal aborts", async () => {
    const ended: number[] = [];
    const server = createServer(
      {
        wait: method({}, (_, { signal }) => {
          signal.addEventListener("abort", () => void ended.push(signal.reason.code));
          return endless;
        }),
        echo: (value: unknown) => value,
      },
      { log: silentLog },
    );
    const wait = { jsonrpc: "2.0", method: "wait" };
    const echo = { jsonrpc: "2.0", method: "echo", params: [1], id: 3 };
    expect(
      await replies(
        (streams) => serveStdio(server, { ...streams, drainMs: 0 }),
        { ...wait, id: 1 },
        [{ ...wait, id: 2 }, echo],
        wait,
      ),
    ).toMatchObject([
      { id: 1, error: stopped },
      [
        { id: 2, error: stopped },
        { id: 3, result: 1 },
      ],
    ]);
    expect(ended).toEqual([-32006, -32006, -32006]);
  });

  test("include those of tools", async () => {
    const server = mcpServer({ wait: () => endless }, { name: "test", version: "1" });
    const call = { jsonrpc: "2.0", method: "tools/call", params: { name: "wait" }, id: 1 };
    expect(
      await replies((streams) => serveMcpStdio(server, { ...streams, drainMs: 0 }), call),
    ).toMatchObject([{ id: 1, error: stopped }]);
  });
});

// It lasted until drainMs was over, and then had no result.
test("subscriptions/listen ends with a result at the end of the input", async () => {
  const server = mcpServer({ add: () => 1 }, { name: "test", version: "1" });
  const listen = {
    jsonrpc: "2.0",
    method: "subscriptions/listen",
    params: {
      notifications: { toolsListChanged: true },
      _meta: { [MetaKey.ProtocolVersion]: "2026-07-28", [MetaKey.ClientCapabilities]: {} },
    },
    id: 1,
  };
  expect(
    await replies((streams) => serveMcpStdio(server, { ...streams, drainMs: 1e9 }), listen),
  ).toMatchObject([
    { method: "notifications/subscriptions/acknowledged" },
    { id: 1, result: { resultType: "complete" } },
  ]);
});
