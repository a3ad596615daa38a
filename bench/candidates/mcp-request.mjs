/** What is asked of every MCP server over HTTP: one tool, in a session that was opened before. */
const accept = "Accept: application/json, text/event-stream";

const call = {
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "add", arguments: { a: 1, b: 2 } },
};

const reply = { jsonrpc: "2.0", id: 7, result: { content: [{ type: "text", text: "3" }] } };

/** Opens a session as a client does, and gives its id. */
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

/** The requests of the load generator, in a session of theirs. */
export async function inSession(port, path) {
  const headers = headersOf(await openSession(port, path));
  return { port, path, requests: { "tools/call": { text: JSON.stringify(call), reply, headers } } };
}

/** Tools that a server of many has. */
export const toolNames = Array.from({ length: 1_000 }, (_, i) => `add_${i}`);

/** The same for a list of tools. Servers describe the tools in their own way, so the first reply is the right one. */
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
