import { mcpClient, mcpHttpLink } from "callwire/mcp/client";

/** Calls the only tool, in one of the two eras. */
export async function addWith(era, { origin }) {
  const client = mcpClient(mcpHttpLink(`${origin}/mcp`), { name: "bench", version: "1", era });
  await client.connect();
  return async (a, b) => {
    const { content } = await client.callTool("add", { a, b });
    return Number(content[0].text);
  };
}
