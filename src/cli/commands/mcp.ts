import { RpcError } from "callwire";
import type { McpClient } from "callwire/mcp/client";
import { callFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { Failure } from "../failure.ts";
import { jsonLine } from "../json-view.ts";
import { contentLines, listLines } from "../mcp-view.ts";
import { mcpWireFrom } from "../mcp-wire.ts";
import { aboutParams, paramsFrom } from "../params.ts";
import { ProgressLine } from "../progress.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { stopSignal } from "../stop.ts";
import { addressFrom } from "../target.ts";
import { Terminal } from "../terminal.ts";
import { version } from "../version.ts";

const { framing: _, ...reaching } = serverOptions;

/** What to ask the server, and how to show what it says. */
interface Asked {
  /** Whether a name must follow. */
  readonly needs?: string;
  ask(
    client: McpClient,
    name: string,
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<Answer>;
}

interface Answer {
  readonly value: unknown;
  lines(terminal: Terminal): readonly string[];
  /** Set where the server did what it was asked, and it came to nothing. */
  readonly failed?: boolean;
}

/** A server that has none of a kind does not know the method that lists them. */
const nothing: Answer = { value: [], lines: () => [] };

const asked: Readonly<Record<string, Asked>> = {
  tools: {
    async ask(client) {
      const value = await client.tools().all();
      return { value, lines: (terminal) => listLines(value, terminal) };
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
      return { value, lines: (terminal) => listLines(value, terminal) };
    },
  },
  call: {
    needs: "a tool",
    async ask(client, name, words, signal) {
      const args = named(await paramsFrom(words));
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
    async ask(client, uri) {
      const value = await client.readResource(uri);
      const blocks = value.contents.map((resource) => ({ type: "resource", resource }) as const);
      return { value, lines: (terminal) => contentLines(blocks, undefined, terminal) };
    },
  },
  get: {
    needs: "a prompt",
    async ask(client, name, words) {
      const args = Object.entries(named(await paramsFrom(words)));
      const texts = args.map(([key, value]) => [
        key,
        typeof value === "string" ? value : jsonLine(value),
      ]);
      const value = await client.getPrompt(name, Object.fromEntries(texts));
      return {
        value,
        lines: (terminal) =>
          value.messages.flatMap(({ role, content }) => [
            terminal.dim(`${role}:`),
            ...contentLines([content], undefined, terminal),
          ]),
      };
    },
  },
};

const verbsOf = Object.keys(asked);

export const mcp = command({
  usage: "<url | stdio:command> <tools | call | resources | read | prompts | get> [name] [params]",
  about: aboutParams,
  options: {
    ...reaching,
    ...verboseOption,
    json: { type: "boolean", description: "show the result as JSON on one line" },
  },
  examples: [
    ["callwire mcp http://localhost:8000/mcp tools", "what an agent could call"],
    ["callwire mcp http://localhost:8000/mcp call math_add a=2 b=3", "call a tool"],
    ["callwire mcp http://localhost:8000/mcp tools --json", "for scripts"],
  ],
  async run(flags, positionals) {
    const [url, [verb = "", name = "", ...words]] = addressFrom("mcp", positionals);
    const question = Object.hasOwn(asked, verb) ? asked[verb] : undefined;
    if (question === undefined) {
      throw new Failure(`after the address comes ${verbsOf.join(", ")}; see "callwire mcp --help"`);
    }
    if (question.needs !== undefined && name === "") {
      throw new Failure(`${verb} needs ${question.needs}; see "callwire mcp --help"`);
    }
    const { mcpClient } = await import("callwire/mcp/client");
    const signal = stopSignal();
    const wire = await mcpWireFrom(url, linkOptionsOf({ ...flags, framing: undefined }));
    const timeoutMs = timeoutOf(flags.timeout);
    await using client = mcpClient(wire, { name: "callwire", version, timeoutMs });
    // Ctrl-C ends whatever is under way.
    signal.addEventListener("abort", () => void client.close(), { once: true });
    let answer: Answer;
    try {
      answer = await question.ask(client, name, words, signal);
    } catch (error) {
      if (signal.aborted) throw new Failure("cancelled", { cause: error, exitCode: 130 });
      throw callFailure(error instanceof RpcError && name !== "" ? name : url, error);
    }
    const terminal = new Terminal(process.stdout);
    if (flags.json) terminal.line(jsonLine(answer.value));
    else for (const line of answer.lines(terminal)) terminal.line(line);
    if (answer.failed) throw new Failure(`${name} failed`, { exitCode: 1, isTold: true });
  },
});

function named(params: unknown): Readonly<Record<string, unknown>> {
  if (params === undefined) return {};
  if (Array.isArray(params)) throw new Failure("arguments of MCP have names, such as a=2");
  return params as Readonly<Record<string, unknown>>;
}
