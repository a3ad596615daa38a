import { silentLog } from "callwire";
import { mcpServer, resource } from "callwire/mcp";
import { mcpClient, mcpHttpLink, mcpMemoryLink } from "callwire/mcp/client";
import { expect, test } from "vitest";
import { json, legacy, rawServer } from "../mcp/client/raw-server.ts";

const self = { name: "test", version: "1.0.0", log: silentLog };

test("what a server does not offer is an empty list, not an error", async () => {
  await using server = await rawServer(
    legacy(({ verb, message: { id } }, response) => {
      const error = { code: -32601, message: "Method not found" };
      if (verb === "GET") response.writeHead(405).end();
      else json(response, { jsonrpc: "2.0", id, error });
    }),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  expect(await client.resources().all()).toEqual([]);
  expect(await client.resourceTemplates().all()).toEqual([]);
  expect(await client.prompts().all()).toEqual([]);
  expect(await client.tools().all()).toEqual([]);
});

test.each(["legacy", "modern"] as const)(
  "the contents of a resource have its _meta (%s)",
  async (era) => {
    const _meta = { ui: { prefersBorder: true } };
    const server = mcpServer(
      {},
      {
        ...self,
        resources: [
          resource({ uri: "ui://text", mimeType: "text/html", _meta, read: () => "<p>" }),
          resource({ uri: "ui://bytes", _meta, read: () => new Uint8Array([1]) }),
        ],
      },
    );
    await using client = mcpClient(mcpMemoryLink(server), { ...self, era });
    expect((await client.readResource("ui://text")).contents).toEqual([
      { uri: "ui://text", mimeType: "text/html", _meta, text: "<p>" },
    ]);
    expect((await client.readResource("ui://bytes")).contents).toEqual([
      { uri: "ui://bytes", _meta, blob: "AQ==" },
    ]);
  },
);
