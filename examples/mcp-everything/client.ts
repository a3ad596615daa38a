// Since version 2026-07-28 an MCP client can be this small, because requests are stateless.
import { MetaKey } from "callwire/mcp";

const [url = "http://127.0.0.1:3000/mcp"] = process.argv.slice(2);

async function ask(
  method: string,
  params: { readonly name?: string; readonly arguments?: object } = {},
) {
  const _meta = {
    [MetaKey.ProtocolVersion]: "2026-07-28",
    [MetaKey.ClientCapabilities]: {},
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(params.name !== undefined && { "mcp-name": params.name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  const { result, error } = await response.json();
  if (error !== undefined) throw new Error(error.message);
  return result;
}

const { tools } = await ask("tools/list");
console.log(`${tools.length} tools`);
const { content } = await ask("tools/call", { name: "greet", arguments: { name: "Ada" } });
console.log(content[0].text);
