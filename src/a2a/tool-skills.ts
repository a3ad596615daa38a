import type { AgentSkill } from "./card.ts";
import type { Execute } from "./executor.ts";
import { callIn } from "./method-skills.ts";
import type { Part } from "./model.ts";

/** A block of the result of a tool. */
interface ToolContent {
  readonly type: string;
  readonly text?: string;
  /** Base64. */
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
}

interface ToolFacts {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
}

/** A client of a server with tools, such as `mcpClient` of `callwire/mcp/client`. */
export interface ToolCaller {
  tools(): AsyncIterable<ToolFacts>;
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly signal?: AbortSignal },
  ): Promise<{
    readonly content: readonly object[];
    readonly structuredContent?: unknown;
    readonly isError?: boolean;
  }>;
}

/** The tools of a server as skills. */
export async function toolSkills(client: ToolCaller): Promise<AgentSkill[]> {
  const skills: AgentSkill[] = [];
  for await (const { name, title = name, description = title } of client.tools()) {
    skills.push({
      id: name,
      name: title,
      description,
      tags: ["tool"],
      inputModes: ["application/json"],
      outputModes: ["text/plain", "application/json"],
    });
  }
  return skills;
}

/** Calls the tool that a message names. */
export function toolsExecutor(client: ToolCaller, skills: readonly AgentSkill[]): Execute {
  const names = skills.map(({ id }) => id);
  return async function* (message, { signal }) {
    const { skill, params } = callIn(message, names);
    const args = (params ?? {}) as Readonly<Record<string, unknown>>;
    yield { state: "working" };
    const result = await client.callTool(skill, args, { signal });
    const { structuredContent: data, isError = false } = result;
    const parts = data === undefined ? result.content.map(partOf) : [{ data }];
    if (isError) yield { state: "failed", message: parts };
    else yield { artifact: { parts } };
  };
}

function partOf(block: object): Part {
  const { type, text, data, mimeType, uri, name } = block as ToolContent;
  if (text !== undefined) return { text };
  const named = { ...(mimeType && { mediaType: mimeType }), ...(name && { filename: name }) };
  if (data !== undefined) return { raw: data, ...named };
  return type === "resource_link" && uri !== undefined ? { url: uri, ...named } : { data: block };
}
