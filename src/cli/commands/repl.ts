import { createInterface, type Interface } from "node:readline";
import {
  type Client,
  createClient,
  ErrorCode,
  failure,
  Host,
  isRpcError,
  printable,
  silentLog,
} from "callwire";
import type { OpenrpcMethod } from "callwire/openrpc";
import { explainFailure } from "../call-failure.ts";
import { defineCommand } from "../command.ts";
import { onlyAddress, timeoutOf } from "../command-arguments.ts";
import { describedMethods } from "../described-methods.ts";
import { masked } from "../failure.ts";
import { linkFromUrl, watchItems } from "../link-from-url.ts";
import { History } from "../repl/history.ts";
import { complete, MultiLine } from "../repl/input.ts";
import { Session } from "../repl/session.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { counted, jsonLine, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url> [options]",
  options: { ...serverOptions, ...verboseOption },
  examples: [
    ["callwire repl ws://localhost:8000/rpc/ws", "type math/add a=2 b=3, or .help"],
    [
      `printf 'add 2 3\\nmath/count to=2\\n' | callwire repl http://localhost:8000/rpc`,
      "lines from a pipe",
    ],
  ],
  async run(flags, positionals) {
    const url = onlyAddress("repl", positionals);
    const terminal = new Terminal(process.stdout);
    const screen: Screen = {
      typing: undefined,
      between(text) {
        if (terminal.isTerminal) process.stdout.write("\r\u001b[K");
        terminal.line(text);
        if (terminal.isTerminal) this.typing?.prompt(true);
      },
    };
    const service = new Host(
      ({ method, params, id }) => {
        const what = id === undefined ? "←" : "← (call, refused)";
        screen.between(terminal.cyan(`${what} ${printable(method)} `) + jsonLine(params ?? null));
        return id === undefined
          ? undefined
          : failure({ code: -32601, message: "Method not found" });
      },
      { log: silentLog },
    );
    const options = linkOptionsOf(flags);
    let hasAnswered = false;
    const link = await linkFromUrl(url, {
      ...options,
      service,
      reconnect: {
        onLost: ({ message }) => {
          // A program that exits before its first reply would only exit again.
          if (!hasAnswered) void link.close();
          else screen.between(terminal.yellow(`connection lost: ${printable(message)}`));
        },
      },
    });
    const timeoutMs = timeoutOf(flags.timeout);
    await using client = createClient(link, { timeoutMs });
    const methods = await methodsOf(client, url, options.headers);
    hasAnswered = true;
    if (terminal.isTerminal) {
      const offer = methods.size === 0 ? "no rpc.discover" : counted(methods.size, "method");
      terminal.line(
        `${terminal.bold(masked(url))}: ${offer}. ${terminal.dim("Type .help for help.")}`,
      );
    }
    const watched = watchItems(link, () => session.noticeItem());
    const session: Session = new Session(
      { streaming: client, calling: createClient(watched, { timeoutMs }) },
      methods,
      terminal,
    );
    await readLines(session, screen, methods);
    if (session.failed && !process.stdin.isTTY) process.exitCode ??= 1;
  },
});

interface Screen {
  /** Set while the user types a line. */
  typing: Interface | undefined;
  between(text: string): void;
}

/** The methods of rpc.discover; empty if the server does not have it. */
async function methodsOf(
  client: Client,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Map<string, OpenrpcMethod>> {
  try {
    return await describedMethods(client);
  } catch (error) {
    if (isRpcError(error) && error.code !== ErrorCode.InvalidRequest) return new Map();
    throw await explainFailure({ url, headers }, error);
  }
}

/** Reads lines until the input ends, and runs them in order. */
function readLines(
  session: Session,
  screen: Screen,
  methods: ReadonlyMap<string, OpenrpcMethod>,
): Promise<void> {
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const history = new History();
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal ? { output: process.stdout, history: history.load() } : undefined),
    terminal: isTerminal,
    historySize: 1000,
    removeHistoryDuplicates: true,
    completer: (line: string) => complete(line, methods),
  });
  const whole = new MultiLine();
  let warned = false;
  let ended = false;
  let closed = false;
  let work = Promise.resolve();
  const prompt = (): void => {
    // A prompt would reopen the input, and the process would never end.
    if (!isTerminal || closed) return;
    lines.setPrompt(whole.isOpen ? "… " : "> ");
    lines.prompt();
    screen.typing = lines;
  };
  const stop = (): void => {
    if (!isTerminal) {
      // Ctrl-C stops the whole script.
      ended = true;
      process.exitCode = 130;
    }
    if (session.cancel() && isTerminal) return;
    if (!isTerminal || warned) {
      lines.close();
      return;
    }
    warned = !whole.isOpen && lines.line === "";
    whole.clear();
    // Ctrl-U clears the line.
    lines.write(null, { ctrl: true, name: "u" });
    process.stdout.write(warned ? "\n(Press Ctrl-C again, or Ctrl-D, to exit)\n" : "\n");
    prompt();
  };
  lines.on("SIGINT", stop);
  process.on("SIGINT", stop);
  const take = (line: string): void => {
    const text = whole.add(line);
    if (text !== undefined) {
      work = work.then(async () => {
        // Lines from a pipe may be queued behind .exit.
        if (ended) return;
        screen.typing = undefined;
        if (!(await session.run(text))) ended = true;
        if (ended) lines.close();
        else prompt();
      });
    } else prompt();
  };
  lines.on("line", (line) => {
    warned = false;
    if (isTerminal) history.add(line);
    take(line);
  });
  prompt();
  return new Promise((resolve) => {
    lines.on("close", () => {
      closed = true;
      screen.typing = undefined;
      if (isTerminal) {
        session.cancel();
        process.stdout.write("\n");
      } else if (whole.isOpen) {
        // Report the incomplete JSON of a script.
        take("");
      }
      void work.then(resolve);
    });
  });
}
