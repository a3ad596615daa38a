import { text as readAll } from "node:stream/consumers";
import { errorText, explainFailure } from "../call-failure.ts";
import { defineCommand, flag } from "../command.ts";
import { addressFrom, refuseExtra, timeoutOf } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { fileText } from "../files.ts";
import { isNotEndpoint, isResponse } from "../inspect/prober.ts";
import { memberOf, parseJson } from "../json-values.ts";
import { requestLine } from "../params.ts";
import { stopped, stopSignal } from "../process-end.ts";
import { rawWireFromUrl } from "../raw-wire.ts";
import { linkOptionsOf, serverOptions, verboseOption } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";
import { nothingAt } from "../wrong-address.ts";

export const command = defineCommand({
  usage: "<url> <file | -> [options]",
  about:
    "The file holds a JSON array, or one request per line: JSON, or a method and\nits params. Lines that begin with # are comments.",
  options: {
    ...serverOptions,
    ...verboseOption,
    json: flag("print each request and response as JSON"),
  },
  examples: [
    [
      `printf 'add 1 2\\nmath/sqrt x=9\\nnope\\n' | callwire batch http://localhost:8000/rpc -`,
      "one call per line",
    ],
    [
      `echo '[{"jsonrpc":"2.0","method":"add","params":[1,2],"id":"a"}]' | callwire batch ws://localhost:8000/rpc/ws -`,
      "a JSON array, sent unchanged",
    ],
  ],
  async run(flags, positionals) {
    const [url, [source, extra]] = addressFrom("batch", positionals);
    if (source === undefined) {
      throw new Failure('batch needs a file, or - for stdin; see "callwire batch --help"');
    }
    refuseExtra("batch", extra);
    const text = source === "-" ? await readAll(process.stdin) : await fileText(source);
    const payload = payloadOf(text, source === "-" ? "standard input" : source);
    const signal = stopSignal();
    const options = linkOptionsOf(flags);
    const wire = await rawWireFromUrl(url, options);
    try {
      const { text: answer, http } = await wire.ask(payload.text, {
        timeoutMs: timeoutOf(flags.timeout),
        signal,
        expectsReply: payload.entries.length === 0 || payload.entries.some(expectsReply),
      });
      const responses = responsesOf(answer, url, http?.status);
      if (isNotEndpoint(http?.status) && !answer?.startsWith("["))
        throw await nothingAt(url, http.status, options.headers);
      const rows = paired(payload.entries, responses);
      show(rows, flags.json === true);
      const due = payload.entries.filter(expectsReply).length;
      const isShort = responses.filter(isResponse).length < due;
      if (isShort || rows.some(({ response }) => isFailed(response))) process.exitCode = 1;
    } catch (error) {
      if (signal.aborted) throw stopped("the batch was cancelled", error);
      throw await explainFailure({ url, headers: options.headers }, error);
    } finally {
      await wire.close();
    }
  },
});

interface Payload {
  readonly text: string;
  readonly entries: readonly unknown[];
}

interface Row {
  readonly request: unknown;
  readonly response: unknown;
}

/** An array is sent as written; lines are joined into one. */
function payloadOf(text: string, where: string): Payload {
  if (/^\s*\[/.test(text)) {
    const entries = parseJson(text, where) as unknown[];
    return { text: text.trim(), entries };
  }
  const lines = text
    .split("\n")
    .map((line, i) => ({ written: line.trim(), place: `${where}, line ${i + 1}` }))
    .filter(({ written }) => written !== "" && !written.startsWith("#"));
  const isJson = (line: { written: string }): boolean => line.written.startsWith("{");
  const given = lines.filter(isJson).map(({ written, place }) => parseJson(written, place));
  // Ids must be unique, or a reply would be shown with the wrong call.
  const taken = new Set(given.map((request) => memberOf(request, "id")));
  let id = 0;
  const texts = lines.map((line) => {
    if (isJson(line)) return line.written;
    do id++;
    while (taken.has(id));
    return JSON.stringify(requestOf(line.written, line.place, id));
  });
  if (texts.length === 0) throw new Failure(`${where} does not contain calls`);
  return { text: `[${texts.join(",")}]`, entries: texts.map((entry) => JSON.parse(entry)) };
}

function requestOf(line: string, place: string, id: number): object {
  try {
    return { jsonrpc: "2.0", ...requestLine(line), id };
  } catch (error) {
    throw new Failure(`${place}: ${oneLine(error)}`, { cause: error });
  }
}

function responsesOf(text: string | undefined, url: string, status: number | undefined): unknown[] {
  if (text === undefined) return [];
  try {
    const answer: unknown = JSON.parse(text);
    return Array.isArray(answer) ? answer : [answer];
  } catch (error) {
    const http = status === undefined ? "" : ` (HTTP ${status})`;
    throw new Failure(`${url}: the reply is not JSON${http}`, { cause: error, exitCode: 1 });
  }
}

/** Pairs requests and responses by id; responses without a request come last. */
function paired(requests: readonly unknown[], responses: readonly unknown[]): Row[] {
  const left = [...responses];
  const rows = requests.map((request) => {
    const id = memberOf(request, "id");
    const at =
      id === undefined || id === null
        ? -1
        : left.findIndex((response) => memberOf(response, "id") === id);
    return { request, response: at < 0 ? undefined : left.splice(at, 1)[0] };
  });
  return [...rows, ...left.map((response) => ({ request: undefined, response }))];
}

function show(rows: readonly Row[], asJson: boolean): void {
  const terminal = new Terminal(process.stdout);
  if (asJson) {
    for (const row of rows) terminal.line(jsonLine(row));
    return;
  }
  const names = rows.map(({ request }) => shorten(nameOf(request), 40));
  const width = Math.max(0, ...names.map(({ length }) => length));
  rows.forEach(({ request, response }, i) => {
    const name = (names[i] ?? "").padEnd(width);
    terminal.line(`${terminal.cyan(name)}  ${outcome(request, response, terminal)}`);
  });
}

function outcome(request: unknown, response: unknown, terminal: Terminal): string {
  if (response === undefined) {
    return terminal.dim(expectsReply(request) ? "no response" : "notification");
  }
  const error = memberOf(response, "error");
  if (error === undefined || error === null) return jsonLine(memberOf(response, "result"));
  const { code, message } = error as { code?: unknown; message?: unknown };
  return terminal.red(
    typeof code === "number" && typeof message === "string"
      ? errorText({ code, message, data: memberOf(error, "data") })
      : jsonLine(error),
  );
}

function nameOf(request: unknown): string {
  if (request === undefined) return "(no id)";
  const method = memberOf(request, "method");
  if (typeof method !== "string") return jsonLine(request);
  const params = memberOf(request, "params");
  return params === undefined ? jsonLine(method).slice(1, -1) : `${method} ${jsonLine(params)}`;
}

function expectsReply(entry: unknown): boolean {
  return typeof memberOf(entry, "method") !== "string" || memberOf(entry, "id") !== undefined;
}

function isFailed(response: unknown): boolean {
  return (memberOf(response, "error") ?? null) !== null;
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
