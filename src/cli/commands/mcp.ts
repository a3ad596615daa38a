import { defineCommand, flag, option } from "../command.ts";
import { addressFrom, notEmpty, oneOf, timeoutOf } from "../command-arguments.ts";
import { Failure } from "../failure.ts";
import { isHttpUrl } from "../link-from-url.ts";
import { Dialog } from "../mcp/dialog.ts";
import { requests, toolHint } from "../mcp/requests.ts";
import { TokenFile } from "../mcp/token-file.ts";
import { aboutNamedParams } from "../params.ts";
import {
  hasAuthorization,
  linkOptionsOf,
  serverOptions,
  verboseOption,
} from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";

const { framing: _, ...options } = serverOptions;

export const command = defineCommand({
  usage: "<url | stdio:command> <request> [name] [params] [options]",
  about: `Requests are ${Object.keys(requests).join(", ")}.
"callwire mcp gateway --config <file>" serves the servers of a file as one, on stdio or --port.
${aboutNamedParams}
A param that a tool declares as a string is never parsed as JSON.
On a terminal you can answer the questions of a server, and sign in.`,
  words: { request: Object.keys(requests) },
  options: {
    ...options,
    "sign-in": flag("sign in if required, even without a terminal"),
    "token-file": option("path", "file for the tokens, readable only by you"),
    ...verboseOption,
    json: flag("print the result as JSON on one line"),
    config: option("file", "gateway only: the servers, as agent hosts configure them"),
    port: option("number", "gateway only: serve at /mcp on this port, not on stdio"),
    host: option("address", "gateway only: listening address (default 127.0.0.1)"),
    hosts: option("names", "gateway only: more names to accept as Host"),
  },
  examples: [
    ["callwire mcp http://localhost:8000/mcp tools", "the tools that an agent can call"],
    ["callwire mcp http://localhost:8000/mcp call math_add a=2 b=3", "call a tool"],
    ["callwire mcp http://localhost:8000/mcp tools --json", "for scripts"],
  ],
  async run(flags, positionals) {
    if (positionals[0] === "gateway") {
      const { serveGateway } = await import("../mcp/serve-gateway.ts");
      await serveGateway(flags, positionals.slice(1));
      return;
    }
    const unused = ["config", "port", "host", "hosts"].find((name) => name in flags);
    if (unused !== undefined) throw new Failure(`--${unused} is for "callwire mcp gateway"`);
    const [url, [verb = "", name = "", ...words]] = addressFrom("mcp", positionals);
    const request = Object.hasOwn(requests, verb) ? requests[verb] : undefined;
    if (request === undefined) {
      const verbs = oneOf(Object.keys(requests));
      throw new Failure(`mcp needs ${verbs} after the address; see "callwire mcp --help"`);
    }
    if (request.needs !== undefined && name === "") {
      throw new Failure(`${verb} needs ${request.needs}; see "callwire mcp --help"`);
    }
    const [extra = ""] = request.needs === undefined ? [name] : words;
    if (extra !== "" && request.takesParams !== true) {
      throw new Failure(
        `unexpected argument ${JSON.stringify(extra)} after ${verb}; see "callwire mcp --help"`,
      );
    }
    const { headers, transcript } = linkOptionsOf(flags);
    const timeoutMs = timeoutOf(flags.timeout);
    const tokens = tokenStore(flags["sign-in"] === true, flags["token-file"], url, headers);
    // The MCP client is loaded only when it is needed.
    const { askServer } = await import("../mcp/ask-server.ts");
    const answer = await askServer(
      { url, name, headers, transcript, timeoutMs, tokens, names: request.names },
      (client, signal) => request.ask(client, name, words, signal),
    );
    const terminal = new Terminal(process.stdout);
    if (flags.json) terminal.line(jsonLine(answer.value));
    else for (const line of answer.lines(terminal)) terminal.line(line);
    if (!answer.failed) return;
    const hint = toolHint(answer.value);
    const message = hint === undefined ? `${name} failed` : `${name} failed; ${hint}`;
    throw new Failure(message, { exitCode: 1, isReported: true });
  },
});

/** The store for tokens; undefined if signing in is impossible, or a token was given. */
function tokenStore(
  signIn: boolean,
  file: string | undefined,
  url: string,
  headers: Readonly<Record<string, string>>,
): TokenFile | Map<string, string> | undefined {
  const hasToken = hasAuthorization(headers);
  if (file !== undefined) notEmpty("--token-file", file);
  const wants = signIn || file !== undefined;
  if (wants && hasToken)
    throw new Failure("--sign-in and --token-file cannot be combined with a token; remove one");
  if (wants && !isHttpUrl(url))
    throw new Failure("signing in needs an HTTP address, not a program");
  if (hasToken || !isHttpUrl(url) || !(wants || Dialog.isPossible)) return undefined;
  return file === undefined ? new Map<string, string>() : new TokenFile(file);
}
