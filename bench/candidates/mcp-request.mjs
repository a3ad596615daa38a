/**
 * The request that every MCP server gets over HTTP: one tool, in a session that was opened before.
 */
const accept = "Accept: application/json, text/event-stream";

const call = {
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "add", arguments: { a: 1, b: 2 } },
};

const reply = { jsonrpc: "2.0", id: 7, result: { content: [{ type: "text", text: "3" }] } };

/** Opens a session as a client does, and returns its id. */
export async function openSession(port, path) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "bench", version: "1" },
      },
    }),
  });
  await response.text();
  return response.headers.get("mcp-session-id");
}

function headersOf(session) {
  return [accept, `Mcp-Session-Id: ${session}`, "MCP-Protocol-Version: 2025-11-25"];
}

/** The requests of the load generator, in its own session. */
export async function inSession(port, path) {
  const headers = headersOf(await openSession(port, path));
  return { port, path, requests: { "tools/call": { text: JSON.stringify(call), reply, headers } } };
}

/** How many tools the long list has. */
export const toolNames = Array.from({ length: 1_000 }, (_, i) => `add_${i}`);

/** The same for a list of tools. Servers describe the tools differently, so the first reply is taken as correct. */
export async function listing(port, path) {
  const headers = headersOf(await openSession(port, path));
  const text = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list", params: {} });
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: [
      ["content-type", "application/json"],
      ...headers.map((header) => header.split(": ", 2)),
    ],
    body: text,
  });
  const reply = await response.json();
  const names = reply.result.tools.map(({ name }) => name).sort();
  if (names.join() !== [...toolNames].sort().join()) throw new Error("some tools are not listed");
  return { port, path, requests: { "tools/list": { text, reply, headers } } };
}
