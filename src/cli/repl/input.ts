import type { OpenrpcMethod } from "callwire/openrpc";

export const dotCommands: readonly (readonly [name: string, meaning: string])[] = [
  [".help", "show this help"],
  [".methods [text]", "list methods, or those whose name contains the text"],
  [".show <method>", "show the params and the result of a method"],
  [".notify <method> [params]", "send a notification"],
  [".stream <method> [params]", "read a stream if the server has no rpc.discover"],
  [".exit", "exit, like Ctrl-D"],
];

export const dotNames: readonly string[] = dotCommands.map(([usage]) => usage.replace(/ .*$/, ""));

/** Completions of the last word of a line, and that word. */
export function complete(
  line: string,
  methods: ReadonlyMap<string, OpenrpcMethod>,
): [hits: string[], word: string] {
  if (/^\.\S*$/.test(line)) {
    return [dotNames.filter((name) => name.startsWith(line)), line];
  }
  const call = line.replace(/^\s*(\.\w+\s+)?/, "");
  const [, name = "", rest] = /^(\S*)(\s[\s\S]*)?$/.exec(call) ?? [];
  if (rest === undefined) {
    return [[...methods.keys()].filter((method) => method.startsWith(name)), name];
  }
  const method = methods.get(name);
  // Names of positional params cannot be typed.
  const params = method?.paramStructure === "by-position" ? [] : (method?.params ?? []);
  const names = params.map((param) => param.name);
  return /^\s*[[{]/.test(rest) ? completeJson(rest, names) : completeWord(rest, names);
}

/** `a=` for each missing param. */
function completeWord(text: string, params: readonly string[]): [string[], string] {
  const [word = ""] = /\S*$/.exec(text) ?? [];
  const left = params.filter((name) => !new RegExp(`\\s${escaped(name)}[=.]`).test(text));
  return [left.filter((name) => name.startsWith(word)).map((name) => `${name}=`), word];
}

/** `"a": ` where a key is allowed. */
function completeJson(text: string, params: readonly string[]): [string[], string] {
  const [, word] = /[{,]\s*("[^"]*)?$/.exec(text) ?? [undefined, null];
  if (word === null) return [[], ""];
  const begun = word ?? "";
  const left = params.filter((name) => !text.includes(`"${name}":`)).map((name) => `"${name}": `);
  return [left.filter((key) => key.startsWith(begun)), begun];
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export class MultiLine {
  #lines: string[] = [];

  get isOpen(): boolean {
    return this.#lines.length > 0;
  }

  /** The complete input, or undefined if more is expected; an empty line ends it. */
  add(line: string): string | undefined {
    const ends = this.isOpen && line.trim() === "";
    this.#lines.push(line);
    const text = this.#lines.join("\n");
    if (!ends && isIncomplete(text)) return undefined;
    this.clear();
    return text;
  }

  clear(): void {
    this.#lines = [];
  }
}

/** Whether the params are JSON with open brackets; brackets in words such as a=[1 do not count. */
function isIncomplete(text: string): boolean {
  const params = text.replace(/^\s*(\.\w+\s+)?\S+/, "");
  if (!/^\s*[[{]/.test(params)) return false;
  let depth = 0;
  for (const [token] of params.matchAll(/"(?:\\.|[^"\\])*"?|[[\]{}]/g)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
  }
  return depth > 0;
}
