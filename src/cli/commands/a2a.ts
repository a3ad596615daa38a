import type { A2aClient, Message, Part, StreamResponse, Task } from "callwire/a2a";
import { callFailure } from "../call-failure.ts";
import { defineCommand, flag, option } from "../command.ts";
import { addressFrom, oneOf, timeoutOf } from "../command-arguments.ts";
import { Failure, invalid } from "../failure.ts";
import { parsed } from "../json-values.ts";
import { didYouMean } from "../nearest.ts";
import { untilSignal } from "../process-end.ts";
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";

const { framing: _, ...options } = serverOptions;

interface Request {
  /** What must follow. */
  readonly needs?: string;
  /** Whether --data can take its place. */
  readonly takesData?: boolean;
  ask(client: A2aClient, word: string, show: Show, given: Given): Promise<void>;
}

interface Given {
  /** What to send instead of text. */
  readonly data?: unknown;
  readonly taskId?: string;
  readonly signal: AbortSignal;
}

/** Prints a value as JSON, or as lines for people. */
type Show = (value: unknown, lines: () => readonly string[]) => void;

const requests: Readonly<Record<string, Request>> = {
  card: {
    async ask({ card }, __, show) {
      show(card, () => [
        `${card.name} ${card.version}: ${card.description}`,
        ...card.skills.map(({ id, description }) => `  ${id}: ${description}`),
      ]);
    },
  },
  send: {
    needs: "a message",
    takesData: true,
    async ask(client, text, show, given) {
      const result = await client.send(contentOf(text, given), optionsOf(given));
      show(result, () => ("task" in result ? taskLines(result.task) : [textOf(result.message)]));
      if ("task" in result) failIfFailed(result.task.status.state);
    },
  },
  stream: {
    needs: "a message",
    takesData: true,
    async ask(client, text, show, given) {
      let state = "";
      for await (const event of client.stream(contentOf(text, given), optionsOf(given))) {
        show(event, () => eventLines(event));
        if ("statusUpdate" in event) state = event.statusUpdate.status.state;
      }
      failIfFailed(state);
    },
  },
  tasks: {
    async ask(client, __, show) {
      const page = await client.listTasks();
      show(page, () => page.tasks.map(({ id, status }) => `${id}  ${stateOf(status.state)}`));
    },
  },
  get: {
    needs: "the id of a task",
    async ask(client, id, show) {
      const task = await client.getTask(id);
      show(task, () => taskLines(task));
    },
  },
  cancel: {
    needs: "the id of a task",
    async ask(client, id, show) {
      const task = await client.cancelTask(id);
      show(task, () => taskLines(task));
    },
  },
};

export const command = defineCommand({
  usage: "<url> <request> [message | task] [options]",
  about: `Requests are ${Object.keys(requests).join(", ")}.
The URL is that of the agent's host, or of its card.`,
  words: { request: Object.keys(requests) },
  options: {
    ...options,
    timeout: option("time", "limit for the answer, such as 30s or 5m (default 10m)"),
    task: option("id", "continue this task, which asked for input"),
    data: option("json", "send this JSON instead of a text"),
    json: flag("print each answer as JSON on one line"),
  },
  examples: [
    ["callwire a2a http://localhost:8000 card", "who the agent is, and what it can do"],
    ["callwire a2a http://localhost:8000 stream 'What is new?'", "an answer as it arrives"],
    ["callwire a2a http://localhost:8000 tasks --json", "for scripts"],
  ],
  async run(flags, positionals) {
    const [url, [verb = "", word = "", ...rest]] = addressFrom("a2a", positionals);
    const request = Object.hasOwn(requests, verb) ? requests[verb] : undefined;
    if (request === undefined) {
      const names = Object.keys(requests);
      if (verb !== "")
        throw new Failure(
          `a2a has no request ${JSON.stringify(verb)}${didYouMean(verb, names)}; see "callwire a2a --help"`,
        );
      const verbs = oneOf(names);
      throw new Failure(`a2a needs ${verbs} after the address; see "callwire a2a --help"`);
    }
    if (flags.data !== undefined && request.takesData !== true)
      throw new Failure("--data is for send and stream");
    if (request.needs !== undefined && word === "" && flags.data === undefined)
      throw new Failure(`${verb} needs ${request.needs}; see "callwire a2a --help"`);
    const [extra] =
      request.needs === undefined ? [word, ...rest].filter((each) => each !== "") : rest;
    if (extra !== undefined)
      throw new Failure(
        `unexpected argument ${JSON.stringify(extra)} after ${verb}; put a message in quotes`,
      );
    const controller = new AbortController();
    void untilSignal().then(() => controller.abort());
    const { headers } = linkOptionsOf(flags);
    const timeoutMs = timeoutOf(flags.timeout ?? "10m");
    const { a2aClient } = await import("callwire/a2a");
    const client = await answered(url, a2aClient(url, { headers, timeoutMs }));
    const terminal = new Terminal(process.stdout);
    const show: Show = (value, lines) => {
      if (flags.json) terminal.line(jsonLine(value));
      else for (const line of lines()) terminal.line(line);
    };
    const given = {
      signal: controller.signal,
      ...(flags.task !== undefined && { taskId: flags.task }),
      ...(flags.data !== undefined && { data: parsedData(flags.data) }),
    };
    try {
      await answered(url, request.ask(client, word, show, given));
    } finally {
      await client.close();
    }
  },
});

function parsedData(text: string): unknown {
  const value = parsed(text);
  if (value === undefined) throw invalid("--data", "JSON", text);
  return value;
}

/** A text, or a part of data. */
function contentOf(text: string, { data }: Given): string | Part {
  return data === undefined ? text : { data };
}

function optionsOf({ data: _, ...options }: Given): Omit<Given, "data"> {
  return options;
}

/** Reports what went wrong on the way, or what the agent answered, in one line. */
async function answered<T>(url: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError")
      throw new Failure("stopped; a task that has started continues", {
        cause: error,
        exitCode: 1,
      });
    throw error instanceof Failure ? error : callFailure(url, error);
  }
}

/** `input-required` for `TASK_STATE_INPUT_REQUIRED`. */
function stateOf(state: string): string {
  return state
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
}

function partText({ text, url, data, raw, filename }: Part): string {
  if (text !== undefined) return text;
  if (data !== undefined) return JSON.stringify(data);
  return url ?? `${filename ?? "file"} (${raw?.length ?? 0} characters in base64)`;
}

function textOf({ parts }: Pick<Message, "parts">): string {
  const words = parts.map((part) => (part.text === undefined ? ` ${partText(part)}` : part.text));
  return words.join("").trimStart();
}

function taskLines({ id, status, artifacts = [] }: Task): string[] {
  const said = status.message === undefined ? "" : `: ${textOf(status.message)}`;
  return [...artifacts.map(textOf), `task ${id}  ${stateOf(status.state)}${said}`];
}

function eventLines(event: StreamResponse): string[] {
  if ("task" in event) return [`task ${event.task.id}  ${stateOf(event.task.status.state)}`];
  if ("message" in event) return [textOf(event.message)];
  if ("artifactUpdate" in event) return [textOf(event.artifactUpdate.artifact)];
  const { status } = event.statusUpdate;
  const said = status.message === undefined ? "" : `: ${textOf(status.message)}`;
  return [`${stateOf(status.state)}${said}`];
}

function failIfFailed(state: string): void {
  if (state === "TASK_STATE_FAILED" || state === "TASK_STATE_REJECTED")
    throw new Failure(`the task is ${stateOf(state)}`, { exitCode: 1 });
}
