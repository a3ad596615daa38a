import { type Client, ErrorCode, isRpcError, printable } from "callwire";
import type { DescribedError, JsonSchema, OpenrpcMethod } from "callwire/openrpc";
import { errorText } from "../call-failure.ts";
import { Failure, oneLine } from "../failure.ts";
import { ProgressLine } from "../live-line.ts";
import { didYouMean } from "../nearest.ts";
import { requestLine } from "../params.ts";
import { jsonLine, jsonView, type Terminal } from "../terminal.ts";
import { columns } from "../text-columns.ts";
import { dotCommands, dotNames } from "./input.ts";

/** Two clients on one link; `calling` reports unexpected stream items. */
export interface Clients {
  readonly calling: Client;
  readonly streaming: Client;
}

export class Session {
  failed = false;
  readonly #clients: Clients;
  readonly #methods: ReadonlyMap<string, OpenrpcMethod>;
  readonly #terminal: Terminal;
  #running: AbortController | undefined;
  #called = "";
  /** Whether the open call received a stream item. */
  #streams = false;

  constructor(clients: Clients, methods: ReadonlyMap<string, OpenrpcMethod>, terminal: Terminal) {
    this.#clients = clients;
    this.#methods = methods;
    this.#terminal = terminal;
  }

  /** Resolves with false when the session ends. */
  async run(text: string): Promise<boolean> {
    const line = text.trim();
    const [, name = "", rest = ""] = /^(\.\w*)?\s*([\s\S]*)$/.exec(line) ?? [];
    if (name === ".exit") return false;
    this.#running = new AbortController();
    try {
      if (line !== "") await this.#runLine(name, rest, this.#running.signal);
    } catch (error) {
      this.#showError(error, this.#running.signal);
    }
    this.#running = undefined;
    return true;
  }

  cancel(): boolean {
    this.#running?.abort();
    return this.#running !== undefined;
  }

  /** A call that was not made as a stream received an item. */
  noticeItem(): void {
    this.#streams = true;
    this.cancel();
  }

  async #runLine(name: string, rest: string, signal: AbortSignal): Promise<void> {
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
          `unknown command ${name}${didYouMean(name, dotNames, String) || "; see .help"}`,
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
      ["<method> [params]", "call a method; params are a=2 b=3, 2 3 or JSON"],
      ...dotCommands,
    ]);
    for (const line of lines) this.#terminal.line(line);
    this.#terminal.line();
    this.#terminal.line("Tab completes names. JSON may span lines. Ctrl-C cancels a call.");
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
          ? "the server does not support rpc.discover"
          : `no method name contains ${JSON.stringify(part)}`,
      );
    }
    for (const line of columns(rows)) this.#terminal.line(line);
  }

  #show(name: string): void {
    const method = this.#methods.get(name);
    if (method === undefined)
      throw new Failure(`rpc.discover does not list ${JSON.stringify(name)}`);
    for (const line of describeMethod(method)) this.#terminal.line(line);
  }

  #showError(error: unknown, signal: AbortSignal): void {
    this.failed = true;
    const terminal = this.#terminal;
    if (this.#streams) terminal.line(terminal.yellow("this method is a stream; use .stream"));
    else if (signal.aborted) terminal.line(terminal.yellow("cancelled"));
    else terminal.line(terminal.red(this.#messageOf(error)));
    this.#streams = false;
  }

  #messageOf(error: unknown): string {
    if (!isRpcError(error)) return printable(oneLine(error));
    const isUnknown = error.code === ErrorCode.MethodNotFound && !this.#methods.has(this.#called);
    const dotted = `.${this.#called}`;
    const guess = !isUnknown
      ? ""
      : dotNames.includes(dotted)
        ? `; did you mean ${dotted}?`
        : didYouMean(this.#called, this.#methods.keys());
    return errorText(error) + guess;
  }
}

function callOf(what: string, text: string): ReturnType<typeof requestLine> {
  const call = requestLine(text);
  if (call.method === "") throw new Failure(`${what} needs a method`);
  return call;
}

function describeMethod(method: OpenrpcMethod): string[] {
  const { name, summary, description, params, result } = method;
  const item = method["x-stream"]?.item;
  const upload = method["x-upload"]?.item;
  const outcome = item === undefined ? ["result", result?.schema] : ["item", item];
  const errors: readonly Partial<DescribedError>[] = method["x-errors"] ?? method.errors ?? [];
  const rows = [
    ...params.map(
      (param) => [`${param.name}${param.required ? "" : "?"}`, schemaText(param.schema)] as const,
    ),
    ...(upload === undefined ? [] : [["upload", schemaText(upload)] as const]),
    [`→ ${outcome[0]}`, schemaText((outcome[1] ?? {}) as JsonSchema)] as const,
    ...errors.map(
      ({ code, name = "", message = "" }) =>
        [`→ ${code}`, printable(`${name} ${message}`.trim())] as const,
    ),
  ];
  const sentences = [summary, description].filter((text) => text !== undefined);
  return [
    printable(`${name}${item === undefined ? "" : " (stream)"}`),
    ...sentences.map((text) => `  ${printable(text)}`),
    ...columns(rows.map(([left, right]) => [printable(left), right])),
  ];
}

function schemaText(schema: JsonSchema): string {
  if (typeof schema !== "object") return schema ? "any" : "never";
  const { type, ...rest } = schema;
  if (type === undefined && Object.keys(rest).length === 0) return "any";
  return typeof type === "string" && Object.keys(rest).length === 0 ? type : jsonLine(schema);
}
