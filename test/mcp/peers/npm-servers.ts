/** Servers that other authors have published on npm, as programs. */
import { type McpWire, mcpStdioLink } from "callwire/mcp/client";
import { root } from "../../entries.ts";

const packages = `${root}test/mcp/peers/node_modules/`;

export const programs = {
  everything: "@modelcontextprotocol/server-everything/dist/index.js",
  files: "@modelcontextprotocol/server-filesystem/dist/index.js",
  memory: "@modelcontextprotocol/server-memory/dist/index.js",
  thinking: "@modelcontextprotocol/server-sequential-thinking/dist/index.js",
  github: "@modelcontextprotocol/server-github/dist/index.js",
  commands: "mcp-server-commands/build/index.js",
} as const;

export type ServerName = keyof typeof programs;

export const fileOf = (name: ServerName): string => packages + programs[name];

/** `folder` is the folder that they may write to. */
export function linkTo(name: ServerName, folder: string): McpWire {
  const env = { ...process.env, MEMORY_FILE_PATH: `${folder}/memory.jsonl` };
  const args = name === "files" ? [folder] : [];
  return mcpStdioLink(process.execPath, [fileOf(name), ...args], { env, stderr: "ignore" });
}
