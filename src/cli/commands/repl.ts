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
import { explainedFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { addressFrom } from "../command-arguments.ts";
import { describedMethods } from "../described-methods.ts";
import { Failure, masked } from "../failure.ts";
import { linkFromUrl, noticingItems } from "../link-from-url.ts";
import { History } from "../repl/history.ts";
import { complete, MultiLine } from "../repl/input.ts";
import { Session } from "../repl/session.ts";
import { linkOptionsOf, serverOptions, timeoutOf, verboseOption } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";

export const repl = command({
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
    const [url, [extra]] = addressFrom("repl", positionals);
    if (extra !== undefined) {
      throw new Failure(`repl takes one address, not ${JSON.stringify(extra)} too`);
    }
    const terminal = new Terminal(process.stdout);
    const screen = new Screen(terminal);
    const service = new Host(
      ({ method, params, id }) => {
        const what = id === undefined ? "←" : "← (a call, refused)";
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
          // A program that dies of the first question, or before it, is not started again for nothing.
          if (!hasAnswered) void link.close();
          else screen.between(terminal.yellow(`the connection is lost: ${printable(message)}`));
        },
      },
    });
    const timeoutMs = timeoutOf(flags.timeout);
    await using client = createClient(link, { timeoutMs });
    const methods = await methodsOf(client, url, options.headers);
    hasAnswered = true;
    if (terminal.isTerminal) {
      const offer = methods.size === 0 ? "it does not describe itself" : `${methods.size} methods`;
      terminal.line(
        `${terminal.bold(masked(url))}: ${offer}. ${terminal.dim(".help shows what to type.")}`,
      );
    }
    const noticing = noticingItems(link, () => session.noticeItem());
    const session: Session = new Session(
      { streaming: client, calling: createClient(noticing, { timeoutMs }) },
      methods,
      terminal,
    );
    await talk(session, screen, methods);
    if (session.failed && !process.stdin.isTTY) process.exitCode ??= 1;
  },
});

/** Lets something be shown while a line is being typed. */
class Screen {
  /** Set while a line is being typed. */
  typing: Interface | undefined;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  between(text: string): void {
    if (this.#terminal.isTerminal) process.stdout.write("\r\u001b[K");
    this.#terminal.line(text);
    if (this.#terminal.isTerminal) this.typing?.prompt(true);
  }
}

/** What the server says that it has; one that does not describe itself is called all the same. */
async function methodsOf(
  client: Client,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Map<string, OpenrpcMethod>> {
  try {
    return await describedMethods(client);
  } catch (error) {
    if (isRpcError(error) && error.code !== ErrorCode.InvalidRequest) return new Map();
    throw await explainedFailure({ url, headers }, error);
  }
}

/** Reads lines until the end, one call after the other. */
function talk(
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
    // A question would open the input again, and nobody would ever end it.
    if (!isTerminal || closed) return;
    lines.setPrompt(whole.isOpen ? "… " : "> ");
    lines.prompt();
    screen.typing = lines;
  };
  const stop = (): void => {
    if (!isTerminal) {
      // Nobody wants the rest of a script whose call was stopped.
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
    // Ctrl-U, which empties the line.
    lines.write(null, { ctrl: true, name: "u" });
    process.stdout.write(warned ? "\n(Ctrl-C again, Ctrl-D or .exit ends)\n" : "\n");
    prompt();
  };
  lines.on("SIGINT", stop);
  process.on("SIGINT", stop);
  const take = (line: string): void => {
    const text = whole.add(line);
    if (text !== undefined) {
      work = work.then(async () => {
        // Lines of a pipe may have come before the end was read.
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
        // JSON that a script did not end is a mistake of its own, and no reason to say nothing.
        take("");
      }
      void work.then(resolve);
    });
  });
}
