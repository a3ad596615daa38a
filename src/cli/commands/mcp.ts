import { command } from "../command.ts";
import { addressFrom } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { toolHint } from "../mcp/hints.ts";
import { Prompt } from "../mcp/prompt.ts";
import { TokenFile } from "../mcp/token-file.ts";
import { asked } from "../mcp/verbs.ts";
import { aboutNamedParams } from "../params.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";

const { framing: _, ...reaching } = serverOptions;

export const mcp = command({
  usage: "<url | stdio:command> <tools | call | resources | read | prompts | get> [name] [params]",
  about: `${aboutNamedParams}\nWhat a tool declares as a string is taken as it is written.\nIn a terminal you are asked what the server wants to know, and can sign in.`,
  options: {
    ...reaching,
    "sign-in": {
      type: "boolean",
      description: "sign in where the server wants it, also without a terminal",
    },
    "token-file": {
      type: "string",
      value: "path",
      description: "keep the tokens of a sign-in in this file, which only you can read",
    },
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
      const verbs = Object.keys(asked).join(", ");
      throw new Failure(`after the address comes ${verbs}; see "callwire mcp --help"`);
    }
    if (question.needs !== undefined && name === "") {
      throw new Failure(`${verb} needs ${question.needs}; see "callwire mcp --help"`);
    }
    const [extra = ""] = question.needs === undefined ? [name] : words;
    if (extra !== "" && question.takesParams !== true) {
      throw new Failure(`${verb} takes no ${JSON.stringify(extra)}; see "callwire mcp --help"`);
    }
    const { headers, transcript } = linkOptionsOf({ ...flags, framing: undefined });
    const timeoutMs = timeoutOf(flags.timeout);
    const tokens = tokenStore(flags, url, headers);
    // What it takes to speak MCP is loaded when somebody is to be spoken with.
    const { speakWith } = await import("../mcp/ask-server.ts");
    const answer = await speakWith(
      { url, name, headers, transcript, timeoutMs, tokens, names: question.names },
      (client, signal) => question.ask(client, name, words, signal),
    );
    const terminal = new Terminal(process.stdout);
    if (flags.json) terminal.line(jsonLine(answer.value));
    else for (const line of answer.lines(terminal)) terminal.line(line);
    if (!answer.failed) return;
    const hint = toolHint(answer.value);
    const sentence = hint === undefined ? `${name} failed` : `${name} failed; ${hint}`;
    throw new Failure(sentence, { exitCode: 1, isTold: true });
  },
});

interface SignInFlags {
  readonly "sign-in": boolean | undefined;
  readonly "token-file": string | undefined;
}

function isHttpUrl(url: string): boolean {
  return /^https?:\/\//.test(url);
}

/** Where the tokens of a sign-in go; undefined where nobody can sign in, or somebody has a token. */
function tokenStore(
  { "sign-in": asked = false, "token-file": file }: SignInFlags,
  url: string,
  headers: Readonly<Record<string, string>>,
): TokenFile | Map<string, string> | undefined {
  const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (file?.trim() === "") throw new Failure("--token-file needs a value");
  const wants = asked || file !== undefined;
  if (wants && hasToken) throw new Failure("with a token of your own there is no sign-in");
  if (wants && !isHttpUrl(url)) throw new Failure("a program takes no sign-in");
  if (hasToken || !isHttpUrl(url) || !(wants || Prompt.isPossible)) return undefined;
  return file === undefined ? new Map<string, string>() : new TokenFile(file);
}
