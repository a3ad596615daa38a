import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export default async ({ origin }) => {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", origin)));
  return async (a, b) => {
    const { content } = await client.callTool({ name: "add", arguments: { a, b } });
    return Number(content[0].text);
  };
};
