/** Starts two agents, connects them, and calls a tool that needs both. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type McpClient, mcpClient, mcpHttpLink } from "callwire/mcp/client";

const hooks = new URL("../typescript.mjs", import.meta.url).href;
const file = fileURLToPath(new URL("agent.ts", import.meta.url));
const children: ChildProcess[] = [];

async function startAgent(name: string): Promise<string> {
  const child = spawn(process.execPath, ["--import", hooks, file, name], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [url] = await once(createInterface(child.stdout), "line");
  return url;
}

try {
  const [planner, librarian] = await Promise.all(["planner", "librarian"].map(startAgent));
  const self = { name: "main", version: "1.0.0" };
  await using toPlanner = mcpClient(mcpHttpLink(planner as string), self);
  await using toLibrarian = mcpClient(mcpHttpLink(librarian as string), self);
  const said = async (client: McpClient, tool: string, args: Record<string, unknown>) => {
    const { content } = await client.callTool(tool, args);
    console.log(content[0]?.type === "text" ? content[0].text : content);
  };
  await said(toPlanner, "meet", { url: librarian });
  await said(toLibrarian, "meet", { url: planner });
  await said(toPlanner, "plan", { city: "Paris" });
} finally {
  for (const child of children) child.kill();
}
