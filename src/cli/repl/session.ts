import { type Client, ErrorCode, isRpcError, printable } from "callwire";
import type { JsonSchema, OpenrpcMethod } from "callwire/openrpc";
import { errorText } from "../call-failure.ts";
import { columns } from "../command.ts";
import { Failure, oneLine } from "../failure.ts";
import { ProgressLine } from "../live-line.ts";
import { didYouMean } from "../nearest.ts";
import { requestLine } from "../params.ts";
import { jsonLine, jsonView, type Terminal } from "../terminal.ts";
import { dotCommands, dotNames } from "./input.ts";

/** Two clients on one link; the one for calls tells of items that it does not expect. */
export interface Clients {
  readonly calling: Client;
  readonly streaming: Client;
}

/** Understands lines and shows what came of them. */
export class Session {
  /** Whether a line failed. */
  failed = false;
  readonly #clients: Clients;
  readonly #methods: ReadonlyMap<string, OpenrpcMethod>;
  readonly #terminal: Terminal;
  #running: AbortController | undefined;
  /** The method that was called last. */
  #called = "";
  /** Set while a call is open whose server sent an item that nobody asked for. */
  #streams = false;

  constructor(clients: Clients, methods: ReadonlyMap<string, OpenrpcMethod>, terminal: Terminal) {
    this.#clients = clients;
    this.#methods = methods;
    this.#terminal = terminal;
  }

  /** False when the session ends. */
  async run(text: string): Promise<boolean> {
    const line = text.trim();
    const [, name = "", rest = ""] = /^(\.\w*)?\s*([\s\S]*)$/.exec(line) ?? [];
    if (name === ".exit") return false;
    this.#running = new AbortController();
    try {
      if (line !== "") await this.#obey(name, rest, this.#running.signal);
    } catch (error) {
      this.#showError(error, this.#running.signal);
    }
    this.#running = undefined;
    return true;
  }

  /** Stops the call that runs; false when there is none. */
  cancel(): boolean {
    this.#running?.abort();
    return this.#running !== undefined;
  }

  /** An item came for a call that was not made as a stream. */
  noticeItem(): void {
    this.#streams = true;
    this.cancel();
  }

  async #obey(name: string, rest: string, signal: AbortSignal): Promise<void> {
    switch (name) {
      case "":
        return this.#methods.get(requestLine(rest).method)?.["x-stream"] === undefined
          ? this.#call(rest, signal)
          : this.#stream(rest, signal);
      case ".stream":
        return this.#stream(rest, signal);
      case ".notify": {
        const { method, params } = callOf(name, rest);
        return this.#clients.calling.notify(method, params, { signal });
      }
      case ".help":
        return this.#help();
      case ".methods":
        return this.#list(rest);
      case ".show":
        return this.#show(rest);
      default:
        throw new Failure(
          `there is no ${name}${didYouMean(name, dotNames, String) || "; see .help"}`,
        );
    }
  }

  async #call(rest: string, signal: AbortSignal): Promise<void> {
    const { method, params } = callOf("a call", rest);
    this.#called = method;
    const progress = new ProgressLine();
    const begun = performance.now();
    this.#streams = false;
    try {
      const onProgress = (value: unknown): void => progress.report(value);
      const result = await this.#clients.calling.call(method, params, { signal, onProgress });
      progress.clear();
      this.#terminal.line(jsonView(result, this.#terminal));
      this.#time(begun);
    } finally {
      progress.clear();
    }
  }

  async #stream(rest: string, signal: AbortSignal): Promise<void> {
    const { method, params } = callOf(".stream", rest);
    this.#called = method;
    const begun = performance.now();
    for await (const item of this.#clients.streaming.stream(method, params, { signal })) {
      this.#terminal.line(jsonView(item, this.#terminal, 0));
    }
    this.#time(begun);
  }

  #time(begun: number): void {
    if (!this.#terminal.isTerminal) return;
    this.#terminal.line(this.#terminal.dim(`${(performance.now() - begun).toFixed(1)} ms`));
  }

  #help(): void {
    const lines = columns([
      ["<method> [params]", "call it; params as a=2 b=3, 2 3 or JSON"],
      ...dotCommands,
    ]);
    for (const line of lines) this.#terminal.line(line);
    this.#terminal.line();
    this.#terminal.line("Tab completes names. JSON may go on over lines. Ctrl-C stops a call.");
  }

  #list(part: string): void {
    const rows = [...this.#methods.values()]
      .filter(({ name }) => name.includes(part))
      .map((method) => {
        const kind = method["x-stream"] === undefined ? "" : "stream: ";
        return [method.name, kind + printable(method.summary ?? "")] as const;
      });
    if (rows.length === 0) {
      throw new Failure(
        this.#methods.size === 0
          ? "the server does not say what it has"
          : `no method has ${JSON.stringify(part)} in its name`,
      );
    }
    for (const line of columns(rows)) this.#terminal.line(line);
  }

  #show(name: string): void {
    const method = this.#methods.get(name);
    if (method === undefined)
      throw new Failure(`the server does not tell of ${JSON.stringify(name)}`);
    for (const line of describeMethod(method)) this.#terminal.line(line);
  }

  #showError(error: unknown, signal: AbortSignal): void {
    this.failed = true;
    const terminal = this.#terminal;
    if (this.#streams) terminal.line(terminal.yellow("it streams; read it with .stream"));
    else if (signal.aborted) terminal.line(terminal.yellow("cancelled"));
    else terminal.line(terminal.red(this.#sentenceOf(error)));
    this.#streams = false;
  }

  #sentenceOf(error: unknown): string {
    if (!isRpcError(error)) return printable(oneLine(error));
    const isUnknown = error.code === ErrorCode.MethodNotFound && !this.#methods.has(this.#called);
    const guess = isUnknown ? didYouMean(this.#called, this.#methods.keys()) : "";
    return errorText(error) + guess;
  }
}

function callOf(what: string, text: string): ReturnType<typeof requestLine> {
  const call = requestLine(text);
  if (call.method === "") throw new Failure(`${what} needs a method`);
  return call;
}

/** What a document tells of a method, in lines. */
export function describeMethod(method: OpenrpcMethod): string[] {
  const { name, summary, description, params, result } = method;
  const item = method["x-stream"]?.item;
  const outcome = item === undefined ? ["result", result?.schema] : ["item", item];
  const rows = [
    ...params.map(
      (param) => [`${param.name}${param.required ? "" : "?"}`, schemaText(param.schema)] as const,
    ),
    [`→ ${outcome[0]}`, schemaText((outcome[1] ?? {}) as JsonSchema)] as const,
  ];
  const sentences = [summary, description].filter((text) => text !== undefined);
  return [
    printable(`${name}${item === undefined ? "" : " (stream)"}`),
    ...sentences.map((text) => `  ${printable(text)}`),
    ...columns(rows.map(([left, right]) => [printable(left), right])),
  ];
}

/** A type where it is simple, else the schema. */
function schemaText(schema: JsonSchema): string {
  if (typeof schema !== "object") return schema ? "any" : "never";
  const { type, ...rest } = schema;
  if (type === undefined && Object.keys(rest).length === 0) return "any";
  return typeof type === "string" && Object.keys(rest).length === 0 ? type : jsonLine(schema);
}
