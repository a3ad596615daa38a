import { membersOf } from "../../protocol/envelope.ts";
import type { Method } from "../../server/method.ts";
import type { ContentBlock } from "../content.ts";
import { invalidArguments } from "../errors.ts";
import { type ToolDefinition, tool } from "./tool.ts";

/** A part of an agent's message. */
interface AgentPart {
  readonly text?: string;
  /** Base64. */
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly mediaType?: string;
  readonly filename?: string;
}

interface Said {
  readonly parts: readonly AgentPart[];
}

/** An agent that takes messages, such as `a2aClient` of `callwire/a2a` connects to. */
export interface MessagedAgent {
  readonly card: { readonly name: string; readonly description: string };
  send(
    message: string,
    options: { readonly taskId?: string; readonly signal?: AbortSignal },
  ): Promise<
    | { readonly message: Said }
    | {
        readonly task: {
          readonly id: string;
          readonly status: { readonly state: string; readonly message?: Said };
          readonly artifacts?: readonly Said[];
        };
      }
  >;
}

const failed = new Set(["TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED"]);

/**
 * An A2A agent as a tool: the model sends it a message, and gets what it answers. If the agent asks for more, the tool
 * returns its question with a `taskId`, with which the model answers it.
 * @example
 * ```ts
 * import { a2aClient } from "callwire/a2a";
 * import { agentTool, mcpServer } from "callwire/mcp";
 *
 * const travel = agentTool(await a2aClient("https://travel.example.com"));
 * const agents = mcpServer({ travel }, { name: "agents", version: "1.0.0" });
 * ```
 */
export function agentTool(
  agent: MessagedAgent,
  definition: Omit<ToolDefinition, "input" | "output"> = {},
): Method {
  const { name, description } = agent.card;
  const input = {
    type: "object",
    properties: {
      message: { type: "string", description: `What to say to the agent ${name}` },
      taskId: { type: "string", description: "The task whose question the message answers" },
    },
    required: ["message"],
    additionalProperties: false,
  };
  return tool({ description, ...definition, input }, async (given, { signal }) => {
    const { message, taskId } = membersOf(given);
    if (typeof message !== "string") throw invalidArguments('"message" must be a string');
    const known = typeof taskId === "string" ? { taskId } : {};
    const answer = await agent.send(message, { ...known, signal });
    if ("message" in answer) return { content: contentOf(answer.message) };
    const { id, status, artifacts = [] } = answer.task;
    const said = status.message === undefined ? artifacts : [...artifacts, status.message];
    return {
      content: said.flatMap(contentOf),
      structuredContent: { taskId: id, state: status.state },
      isError: failed.has(status.state),
    };
  });
}

function contentOf({ parts }: Said): ContentBlock[] {
  return parts.map(({ text, raw, url, data, mediaType = "", filename = "file" }) => {
    if (text !== undefined) return { type: "text", text };
    if (url !== undefined) return { type: "resource_link", uri: url, name: filename };
    if (raw === undefined) return { type: "text", text: JSON.stringify(data ?? null) };
    if (mediaType.startsWith("image/")) return { type: "image", data: raw, mimeType: mediaType };
    if (mediaType.startsWith("audio/")) return { type: "audio", data: raw, mimeType: mediaType };
    const uri = `a2a:${encodeURIComponent(filename)}`;
    return {
      type: "resource",
      resource: { uri, blob: raw, ...(mediaType && { mimeType: mediaType }) },
    };
  });
}
