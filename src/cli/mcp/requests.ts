import { isRpcError, printable, WireError } from "callwire";
import type { ToolDescription } from "callwire/mcp";
import type { McpClient } from "callwire/mcp/client";
import { takesText } from "../declared-types.ts";
import { Failure } from "../failure.ts";
import { ProgressLine } from "../live-line.ts";
import { hasJsonValues, paramsFrom, type ReadWord } from "../params.ts";
import { jsonLine, type Terminal } from "../terminal.ts";
import { contentLines, listLines, promptArguments, toolArguments } from "./view.ts";

export interface McpRequest {
  /** The name that must follow, with its article. */
  readonly needs?: string;
  /** Whether params may follow the name. */
  readonly takesParams?: boolean;
  /** The names that exist, for suggestions. */
  names?(client: McpClient): Promise<readonly string[]>;
  ask(
    client: McpClient,
    name: string,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<Answer>;
}

export interface Answer {
  readonly value: unknown;
  lines(terminal: Terminal): readonly string[];
  /** Whether the tool reported an error. */
  readonly failed?: boolean;
}

/** A server without a capability does not have its list method. */
const nothing: Answer = { value: [], lines: () => [] };

export const requests: Readonly<Record<string, McpRequest>> = {
  tools: {
    async ask(client) {
      const value = await client.tools().all();
      return { value, lines: (terminal) => listLines(value, terminal, toolArguments) };
    },
  },
  resources: {
    async ask(client) {
      const { capabilities } = await client.connect();
      if (capabilities.resources === undefined) return nothing;
      const [listed, templates] = [
        await client.resources().all(),
        await client.resourceTemplates().all(),
      ];
      const named = [
        ...listed.map((each) => ({ ...each, name: each.uri, title: each.title ?? each.name })),
        ...templates.map((each) => ({
          ...each,
          name: each.uriTemplate,
          title: each.title ?? each.name,
        })),
      ];
      return { value: [...listed, ...templates], lines: (terminal) => listLines(named, terminal) };
    },
  },
  prompts: {
    async ask(client) {
      const { capabilities } = await client.connect();
      if (capabilities.prompts === undefined) return nothing;
      const value = await client.prompts().all();
      return { value, lines: (terminal) => listLines(value, terminal, promptArguments) };
    },
  },
  call: {
    needs: "a tool",
    takesParams: true,
    names: async (client) => (await client.tools().all()).map(({ name }) => name),
    async ask(client, name, words, signal) {
      const tool = hasJsonValues(words) ? await toolNamed(client, name, signal) : undefined;
      const read: ReadWord = (path, word) =>
        takesText(tool?.inputSchema, path, word) ? word : undefined;
      const args = named(await paramsFrom(words, read));
      const progress = new ProgressLine();
      try {
        const value = await client.callTool(name, args, {
          signal,
          onProgress: ({ progress: done, total, message }) =>
            progress.report({ progress: done, total, message }),
        });
        const { content, structuredContent, isError = false } = value;
        return {
          value,
          failed: isError,
          lines: (terminal) => contentLines(content, structuredContent, terminal),
        };
      } finally {
        progress.clear();
      }
    },
  },
  read: {
    needs: "the URI of a resource",
    names: async (client) => (await client.resources().all()).map(({ uri }) => uri),
    async ask(client, uri) {
      const value = await client.readResource(uri);
      const blocks = value.contents.map((resource) => ({ type: "resource", resource }) as const);
      return { value, lines: (terminal) => contentLines(blocks, undefined, terminal) };
    },
  },
  get: {
    needs: "a prompt",
    takesParams: true,
    names: async (client) => (await client.prompts().all()).map(({ name }) => name),
    async ask(client, name, words) {
      const read: ReadWord = (path, word) => (path.length === 1 ? word : undefined);
      const args = Object.entries(named(await paramsFrom(words, read)));
      const texts = args.map(([key, value]) => [
        key,
        typeof value === "string" ? value : jsonLine(value),
      ]);
      const value = await client.getPrompt(name, Object.fromEntries(texts));
      return {
        value,
        lines: (terminal) =>
          value.messages.flatMap(({ role, content }) => [
            terminal.dim(`${printable(role)}:`),
            ...contentLines([content], undefined, terminal),
          ]),
      };
    },
  },
};

/** The description of a tool; undefined if it is unknown, which the call will report. */
async function toolNamed(
  client: McpClient,
  name: string,
  signal: AbortSignal,
): Promise<ToolDescription | undefined> {
  try {
    for await (const tool of client.tools({ signal })) if (tool.name === name) return tool;
  } catch (error) {
    if (!isRpcError(error)) throw error;
  }
  return undefined;
}

function named(params: unknown): Readonly<Record<string, unknown>> {
  if (params === undefined) return {};
  if (Array.isArray(params)) throw new Failure("arguments must be named, such as a=2");
  return params as Readonly<Record<string, unknown>>;
}

const missingCapability = -32021;
const pageRequired = -32042;
const terminal = "run this in a terminal to answer its questions";

export function errorHint(error: unknown): string | undefined {
  if (error instanceof WireError && error.status === 401) {
    return "use --sign-in, or --bearer with a token";
  }
  if (isRpcError(error, pageRequired)) {
    return "run this in a terminal to see the page";
  }
  if (!isRpcError(error, missingCapability)) return undefined;
  const { requiredCapabilities: needed = {} } = (error.data ?? {}) as {
    requiredCapabilities?: object;
  };
  return "elicitation" in needed ? terminal : undefined;
}

/** The same for an error in the result of a tool. */
export function toolHint(result: unknown): string | undefined {
  const { _meta } = result as { _meta?: Readonly<Record<string, unknown>> };
  const { code } = (_meta?.["callwire/error"] ?? {}) as { code?: unknown };
  return code === missingCapability ? terminal : undefined;
}
