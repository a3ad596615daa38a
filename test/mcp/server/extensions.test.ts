import { silentLog } from "callwire";
import { mcpGateway, mcpServer, resource, tool } from "callwire/mcp";
import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { expect, test } from "vitest";

const info = { name: "test", version: "1.0.0", log: silentLog };
const ui = "io.modelcontextprotocol/ui";

test.each(["legacy", "modern"] as const)("extensions are declared (%s)", async (era) => {
  const server = mcpServer(
    { add: (a: number, b: number) => a + b },
    {
      ...info,
      extensions: { [ui]: { mimeTypes: ["text/html;profile=mcp-app"] } },
    },
  );
  await using client = mcpClient(mcpMemoryLink(server), { ...info, era });
  const { capabilities } = await client.connect();
  expect(capabilities.extensions).toEqual({ [ui]: { mimeTypes: ["text/html;profile=mcp-app"] } });
});

test("a server without extensions declares none", async () => {
  const server = mcpServer({ add: (a: number, b: number) => a + b }, info);
  await using client = mcpClient(mcpMemoryLink(server), { ...info, era: "legacy" });
  expect((await client.connect()).capabilities).not.toHaveProperty("extensions");
});

test("a tool names the page that shows its result, also through a gateway", async () => {
  const chart = mcpServer(
    { draw: tool({ _meta: { ui: { resourceUri: "ui://chart" } } }, () => "drawn") },
    {
      ...info,
      resources: [
        resource({
          uri: "ui://chart",
          mimeType: "text/html;profile=mcp-app",
          read: () => "<p>Chart</p>",
        }),
      ],
    },
  );
  const gateway = mcpGateway({ charts: chart }, { ...info, extensions: { [ui]: {} } });
  await using client = mcpClient(mcpMemoryLink(gateway), info);
  expect((await client.connect()).capabilities.extensions).toHaveProperty([ui]);
  const [{ _meta } = { _meta: undefined }] = await client.tools().all();
  expect(_meta).toEqual({ ui: { resourceUri: "ui://charts+chart" } });
  const { contents } = await client.readResource("ui://charts+chart");
  expect(contents).toMatchObject([{ uri: "ui://charts+chart", text: "<p>Chart</p>" }]);
});
