/** One agent: an MCP server, and a client of the other agent. */
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { type McpClient, mcpClient, mcpHttpLink } from "callwire/mcp/client";

const name = process.argv[2] === "librarian" ? "librarian" : "planner";

let other: McpClient | undefined;

/** Calls a tool of the other agent, and returns its text. */
async function ask(toolName: string, args: Record<string, unknown>): Promise<string> {
  if (other === undefined) throw new Error("nobody to ask");
  const { content } = await other.callTool(toolName, args);
  return content.map((block) => (block.type === "text" ? block.text : "")).join(" ");
}

function withText(property: string) {
  return {
    type: "object",
    properties: { [property]: { type: "string" } },
    required: [property],
  };
}

/** Tells an agent the address of the other. */
const meet = tool({ input: withText("url") }, async (params) => {
  const { url } = params as { url: string };
  other = mcpClient(mcpHttpLink(url), { name, version: "1.0.0" });
  const { info, era } = await other.connect();
  return `${name} met ${info?.name} (${era})`;
});

const planner = {
  meet,
  plan: tool({ description: "Plan a trip", input: withText("city") }, async (params) => {
    const { city } = params as { city: string };
    return `A day in ${city}: ${await ask("sights", { city })}.`;
  }),
  taste: tool({ description: "What the traveller likes" }, () => "museums"),
};

const sights: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Paris: { museums: "the Louvre", parks: "the Tuileries" },
};

const librarian = {
  meet,
  sights: tool({ description: "What there is to see", input: withText("city") }, async (params) => {
    const { city } = params as { city: string };
    // The callee calls the caller back while that call is still open.
    const taste = await ask("taste", {});
    return sights[city]?.[taste] ?? "a walk";
  }),
};

const server = mcpServer(name === "planner" ? planner : librarian, { name, version: "1.0.0" });
const http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
console.log(new URL("/mcp", http.url).href);

process.once("SIGTERM", async () => {
  await other?.close();
  await http.close();
});
