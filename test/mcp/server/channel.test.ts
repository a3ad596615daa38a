import { silentLog } from "callwire";
import { memoryChannels } from "callwire/connection";
import { mcpServer, serveMcpChannel, tool } from "callwire/mcp";
import { mcpChannelLink, mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { describe, expect, test } from "vitest";

const self = { name: "test", version: "1.0.0", log: silentLog };

describe.each(["legacy", "modern"] as const)("a channel of one's own, in the %s era", (era) => {
  test("carries calls, progress and questions", async () => {
    const server = mcpServer(
      {
        work: tool({}, async (_, call) => {
          call.progress({ progress: 1, total: 2 });
          const { action } = await call.elicit("Sure?", { type: "object", properties: {} });
          return `${action} over ${call.transport.kind}`;
        }),
      },
      self,
    );
    const [near, far] = memoryChannels();
    const transport = { kind: "pipe", headers: {}, remoteAddress: undefined };
    serveMcpChannel(server, far, { transport });
    const link = mcpChannelLink(() => near, { reconnect: false });
    const elicitForm = () => ({ action: "accept" as const, content: {} });
    await using client = mcpClient(link, { ...self, era, elicitForm });
    const seen: unknown[] = [];
    const onProgress = (value: unknown) => seen.push(value);
    const { content } = await client.callTool("work", {}, { onProgress });
    expect(content).toEqual([{ type: "text", text: "accept over pipe" }]);
    expect(seen[0]).toMatchObject({ progress: 1, total: 2 });
  });

  test("cancels a call when its caller does", async () => {
    const cancelled = new AbortController();
    const begun = new AbortController();
    const aborted = (signal: AbortSignal): Promise<unknown> =>
      new Promise((resolve) => signal.addEventListener("abort", resolve));
    const hasBegun = aborted(begun.signal);
    const isCancelled = aborted(cancelled.signal);
    const server = mcpServer(
      {
        wait: tool({}, async (_, { signal }) => {
          signal.addEventListener("abort", () => cancelled.abort());
          begun.abort();
          await isCancelled;
          return "stopped";
        }),
      },
      self,
    );
    await using client = mcpClient(mcpMemoryLink(server), { ...self, era });
    const controller = new AbortController();
    const call = client.callTool("wait", {}, { signal: controller.signal });
    await hasBegun;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await isCancelled;
  });
});

test("a server that closes closes its channels", async () => {
  const server = mcpServer({ add: (a: number, b: number) => a + b }, self);
  const [, far] = memoryChannels();
  const connection = serveMcpChannel(server, far);
  await server.close();
  await connection.closed;
  expect(connection.isOpen).toBe(false);
});
