/**
 * The official client, version 1, without any capabilities, and results of tools that are not plain
 * data.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { method, RpcError, silentLog } from "callwire";
import { MetaKey, mcpServer, text, tool } from "callwire/mcp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { serveEverything } from "./everything.ts";

const page = new URL("https://example.com/a");

const agents = mcpServer(
  {
    form: tool({}, async (_, call) => {
      const { action } = await call.elicit("Really?", z.object({ sure: z.boolean() }));
      return action;
    }),
    page: tool({}, async (_, call) => (await call.elicitUrl("Pay", page.href)).action),
    model: tool({}, async (_, call) => (await call.sample({ messages: [], maxTokens: 1 })).model),
    folders: tool({}, async (_, call) => [text(`${(await call.roots()).length}`)]),
    user: method({}, () => {
      throw new RpcError(-32601, "no such user");
    }),
    secret: method({ access: { roles: ["admin"] } }, () => 1),
    date: () => new Date(0),
    url: tool({}, () => page),
    point: () => ({ toJSON: () => ({ x: 1 }) }),
    list: tool({}, () => ({ toJSON: () => [text("one"), text("two")] })),
  },
  { name: "bare", version: "1.0.0", log: silentLog },
);

describeWith(["mcp peers"], "an official client that can be asked nothing", () => {
  let served: Awaited<ReturnType<typeof serveEverything>>;
  let client: Client;

  beforeAll(async () => {
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ]);
    served = await serveEverything(agents);
    client = new Client({ name: "sdk-v1", version: "1.0.0" });
    // The SDK is not written for exact optional members.
    await client.connect(new StreamableHTTPClientTransport(served.url) as unknown as Transport);
  });

  afterAll(async () => {
    await client.close();
    await served.http.close();
  });

  test.each([
    ["form", "elicitation"],
    ["page", "elicitation.url"],
    ["model", "sampling"],
    ["folders", "roots"],
  ])("the tool %s fails with the capability that it needs", async (name, capability) => {
    expect(await client.callTool({ name })).toEqual({
      content: [text(`the client did not declare the capability ${capability}`)],
      isError: true,
      _meta: { [MetaKey.Error]: { code: -32021 } },
    });
  });

  test("an error of a handler is its own, whatever its code", async () => {
    expect(await client.callTool({ name: "user" })).toMatchObject({
      content: [text("no such user")],
      isError: true,
    });
  });

  test("a tool that is kept from it is not there", async () => {
    await expect(client.callTool({ name: "secret" })).rejects.toThrow('there is no tool "secret"');
  });

  test("what JSON writes as a text is a text, and structured content is an object", async () => {
    expect(await client.callTool({ name: "date" })).toEqual({
      content: [text("1970-01-01T00:00:00.000Z")],
    });
    expect(await client.callTool({ name: "url" })).toEqual({ content: [text(page.href)] });
    expect(await client.callTool({ name: "point" })).toEqual({
      content: [text('{"x":1}')],
      structuredContent: { x: 1 },
    });
    expect(await client.callTool({ name: "list" })).toEqual({
      content: [text("one"), text("two")],
    });
  });
});
