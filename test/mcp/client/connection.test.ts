import { silentLog } from "callwire";
import { type Channel, memoryChannels } from "callwire/connection";
import {
  type McpClientOptions,
  mcpChannelLink,
  mcpClient,
  mcpStdioLink,
} from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog };

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly _meta?: { readonly progressToken?: number } };
}

/** The peer of a channel, whose messages the test writes. */
class Other {
  readonly heard: Message[] = [];
  readonly near: Channel;
  readonly #far: Channel;
  #wake: () => void = () => {};

  constructor(answer: (message: Message, say: (message: object) => void) => void) {
    const [near, far] = memoryChannels();
    this.near = near;
    this.#far = far;
    const say = (message: object): void => far.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
    far.listen({
      message: (text) => {
        const message: Message = JSON.parse(text);
        this.heard.push(message);
        answer(message, say);
        this.#wake();
      },
      fault: () => {},
      drain: () => {},
      end: () => {},
    });
  }

  close(): void {
    this.#far.close();
  }

  /** The first message of this method, now or later. */
  async message(method: string): Promise<Message> {
    for (;;) {
      const found = this.heard.find((message) => message.method === method);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  serverInfo: { name: "other", version: "1" },
};

function legacyOther(rest: (message: Message, say: (message: object) => void) => void): Other {
  return new Other((message, say) => {
    const { id, method } = message;
    if (method === "initialize") say({ id, result: initialized });
    else if (method === "server/discover") say({ id, error: { code: -32601, message: "No" } });
    else rest(message, say);
  });
}

test("each report of progress restarts the timeout of a call", async () => {
  const clock = new FakeClock();
  let report: (progress: number) => void = () => {};
  let finish: () => void = () => {};
  const other = legacyOther(({ id, method, params }, say) => {
    if (method !== "tools/call") return;
    const progressToken = params?._meta?.progressToken;
    report = (progress) =>
      say({ method: "notifications/progress", params: { progressToken, progress } });
    finish = () => say({ id, result: { content: [] } });
  });
  await using client = mcpClient(
    mcpChannelLink(() => other.near),
    { ...self, clock, timeoutMs: 1_000 },
  );
  const reports: number[] = [];
  let heard: () => void = () => {};
  const call = client.callTool(
    "work",
    {},
    {
      onProgress: ({ progress }) => {
        reports.push(progress);
        heard();
      },
    },
  );
  await other.message("tools/call");
  for (const progress of [1, 2, 3]) {
    clock.advance(800);
    const arrived = new Promise<void>((resolve) => {
      heard = resolve;
    });
    report(progress);
    await arrived;
  }
  finish();
  expect(await call).toEqual({ content: [] });
  expect(reports).toEqual([1, 2, 3]);
});

test("a call without progress ends in time, and the server gets the cancellation of MCP", async () => {
  const clock = new FakeClock();
  const other = legacyOther(() => {});
  await using client = mcpClient(
    mcpChannelLink(() => other.near),
    { ...self, clock, timeoutMs: 1_000 },
  );
  const call = client.callTool("work");
  call.catch(() => {});
  const { id } = await other.message("tools/call");
  clock.advance(2_000);
  await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
  expect((await other.message("notifications/cancelled")).params).toEqual({ requestId: id });
});

test("requests have no members that strict servers would refuse", async () => {
  const other = legacyOther(({ id }, say) => say({ id, result: { content: [] } }));
  await using client = mcpClient(
    mcpChannelLink(() => other.near),
    self,
  );
  await client.callTool("work", {}, { timeoutMs: 50_000 });
  expect(Object.keys(await other.message("tools/call")).sort()).toEqual([
    "id",
    "jsonrpc",
    "method",
    "params",
  ]);
});

test("a channel that breaks is opened again, with a new handshake and the subscriptions", async () => {
  const others: Other[] = [];
  const made = (): Channel => {
    const other = legacyOther(({ id }, say) => say({ id, result: {} }));
    others.push(other);
    return other.near;
  };
  await using client = mcpClient(mcpChannelLink(made, { reconnect: { delayMs: 1 } }), self);
  let tell: (kind: string) => void = () => {};
  const told = new Promise<string>((resolve) => {
    tell = resolve;
  });
  await client.subscribe({ uris: ["test://a"] }, ({ kind }) => tell(kind));
  others[0]?.close();
  expect(await told).toBe("gap");
  const methods = others[1]?.heard.map(({ method }) => method);
  expect(methods).toEqual(["initialize", "notifications/initialized", "resources/subscribe"]);
});

test("an error names the capability that a server lacks", async () => {
  const unknown = { code: -32601, message: "Method not found" };
  const legacy = legacyOther(({ id }, say) => {
    if (id !== undefined) say({ id, error: unknown });
  });
  const modern = new Other(({ id, method }, say) => {
    const capabilities = {};
    const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities };
    if (method === "server/discover") say({ id, result });
    else if (id !== undefined) say({ id, error: unknown });
  });
  const ref = { type: "ref/prompt", name: "p" } as const;
  for (const [other, listens] of [
    [legacy, "resources/subscribe"],
    [modern, "subscriptions/listen"],
  ] as const) {
    await using client = mcpClient(
      mcpChannelLink(() => other.near),
      self,
    );
    await expect(client.complete(ref, { name: "a", value: "b" })).rejects.toMatchObject({
      code: -32601,
      message: "Method not found: completion/complete",
    });
    await expect(
      client.subscribe({ tools: true, uris: ["test://a"] }, () => {}),
    ).rejects.toMatchObject({ code: -32601, message: `Method not found: ${listens}` });
  }
});

test("a program that dies when asked for its era is started again, for the legacy era", async () => {
  const script = `
    process.stdin.on("data", (data) => {
      for (const line of String(data).trim().split("\\n")) {
        const { id, method } = JSON.parse(line);
        if (method === "server/discover") process.exit(1);
        if (method === "initialize") {
          console.log(JSON.stringify({ jsonrpc: "2.0", id, result: ${JSON.stringify(initialized)} }));
        }
      }
    });`;
  const wire = mcpStdioLink(process.execPath, ["-e", script], { stderr: "ignore" });
  // The server may take long to start and die; asked in the old way before that, the question would
  // be lost with it.
  await using client = mcpClient(wire, { ...self, probeMs: 50_000 });
  expect(await client.connect()).toMatchObject({ era: "legacy", revision: "2025-06-18" });
});

test("a program that does not answer that question is used in the legacy era", async () => {
  const clock = new FakeClock();
  const other = new Other(({ id, method }, say) => {
    if (method === "initialize") say({ id, result: initialized });
  });
  await using client = mcpClient(
    mcpChannelLink(() => other.near),
    { ...self, clock, probeMs: 100 },
  );
  const connected = client.connect();
  await other.message("server/discover");
  clock.advance(1_000);
  expect(await connected).toMatchObject({ era: "legacy" });
});

test("a program that cannot be started is reported", async () => {
  await using client = mcpClient(mcpStdioLink("/does/not/exist"), self);
  await expect(client.connect()).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});
