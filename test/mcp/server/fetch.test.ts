import { silentLog } from "callwire";
import { mcpFetchHandler, mcpServer, resource, tool } from "callwire/mcp";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { describe, expect, test } from "vitest";

const self = { name: "test", version: "1.0.0", log: silentLog };
const url = "http://127.0.0.1/mcp";

const server = mcpServer(
  {
    add: (a: number, b: number) => a + b,
    work: tool({}, async (_, call) => {
      call.progress({ progress: 1, total: 2 });
      const { action } = await call.elicit("Sure?", { type: "object", properties: {} });
      return action;
    }),
  },
  {
    ...self,
    resources: [resource({ uri: "test://a", name: "a", read: () => "text" })],
  },
);

describe.each(["legacy", "modern"] as const)("MCP on fetch, in the %s era", (era) => {
  const handler = mcpFetchHandler(server);
  const link = () => mcpHttpLink(url, { fetch: (to, init) => handler(new Request(to, init)) });

  test("lists, calls, reports progress and asks the client", async () => {
    await using client = mcpClient(link(), {
      ...self,
      era,
      elicitForm: () => ({ action: "accept", content: {} }),
    });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["add", "work"]);
    expect(await client.callTool("add", { a: 2, b: 3 })).toMatchObject({
      content: [{ type: "text", text: "5" }],
    });
    const seen: unknown[] = [];
    const onProgress = (value: unknown) => seen.push(value);
    expect(await client.callTool("work", {}, { onProgress })).toMatchObject({
      content: [{ type: "text", text: "accept" }],
    });
    expect(seen[0]).toMatchObject({ progress: 1, total: 2 });
  });

  test("reports changes of resources", async () => {
    await using client = mcpClient(link(), { ...self, era });
    let changed: (uri: string) => void = () => {};
    const change = new Promise<string>((resolve) => {
      changed = resolve;
    });
    await using _ = await client.subscribe({ uris: ["test://a"] }, (each) => {
      if (each.kind === "resource") changed(each.uri);
    });
    server.resourceUpdated("test://a");
    expect(await change).toBe("test://a");
  });
});

test("a foreign Host and a foreign Origin are refused", async () => {
  const handler = mcpFetchHandler(server, { hosts: ["mcp.example.com"] });
  const status = async (to: string, headers: Record<string, string> = {}): Promise<number> => {
    const { host } = new URL(to);
    const all = { "content-type": "application/json", host, ...headers };
    return (await handler(new Request(to, { method: "POST", headers: all, body: "{}" }))).status;
  };
  expect(await status("http://evil.example/mcp")).toBe(403);
  expect(await status("https://mcp.example.com/mcp", { origin: "https://evil.example" })).toBe(403);
  expect(await status("https://mcp.example.com/mcp")).toBe(400);
});

test("with authorization, the answer says where to get a token", async () => {
  const handler = mcpFetchHandler(server, {
    hosts: ["mcp.example.com"],
    authorization: {
      resource: "https://mcp.example.com/mcp",
      authorizationServers: ["https://login.example"],
      verify: () => undefined,
    },
  });
  const refused = await handler(
    new Request("https://mcp.example.com/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", host: "mcp.example.com" },
      body: "{}",
    }),
  );
  expect(refused.status).toBe(401);
  const [, where = ""] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  const metadata = await handler(new Request(where));
  expect(await metadata.json()).toMatchObject({
    resource: "https://mcp.example.com/mcp",
    authorization_servers: ["https://login.example"],
  });
});
