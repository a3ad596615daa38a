import type { OpenrpcMethod } from "callwire/openrpc";

/** What the session understands beside calls, with what it does. */
export const dotCommands: readonly (readonly [name: string, meaning: string])[] = [
  [".help", "show this"],
  [".methods [text]", "list the methods, or those whose name has the text"],
  [".show <method>", "show the params and the result of a method"],
  [".notify <method> [params]", "send a notification"],
  [".stream <method> [params]", "read a stream of a server that does not describe itself"],
  [".exit", "end; so does Ctrl-D"],
];

export const dotNames: readonly string[] = dotCommands.map(([usage]) => usage.replace(/ .*$/, ""));

/** What may stand in place of the last word of a line, and that word. */
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
  // Where params go by position, their names mean nothing.
  const params = method?.paramStructure === "by-position" ? [] : (method?.params ?? []);
  const names = params.map((param) => param.name);
  return /^\s*[[{]/.test(rest) ? completeJson(rest, names) : completeWord(rest, names);
}

/** `a=`, for params that are not there yet. */
function completeWord(text: string, params: readonly string[]): [string[], string] {
  const [word = ""] = /\S*$/.exec(text) ?? [];
  const left = params.filter((name) => !new RegExp(`\\s${escaped(name)}[=.]`).test(text));
  return [left.filter((name) => name.startsWith(word)).map((name) => `${name}=`), word];
}

/** `"a": `, where a key can stand. */
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

/** Gathers lines until the JSON that they hold is whole. */
export class MultiLine {
  #lines: string[] = [];

  get isOpen(): boolean {
    return this.#lines.length > 0;
  }

  /** The whole text, or undefined when more is to come. An empty line ends it as it is. */
  add(line: string): string | undefined {
    const ends = this.isOpen && line.trim() === "";
    this.#lines.push(line);
    const text = this.#lines.join("\n");
    if (!ends && isOpenEnded(text)) return undefined;
    this.clear();
    return text;
  }

  clear(): void {
    this.#lines = [];
  }
}

/** Whether brackets of the params are open. Words before them, as in a=[1, may hold some too. */
function isOpenEnded(text: string): boolean {
  const params = text.replace(/^\s*(\.\w+\s+)?\S+/, "");
  if (!/^\s*[[{]/.test(params)) return false;
  let depth = 0;
  for (const [token] of params.matchAll(/"(?:\\.|[^"\\])*"?|[[\]{}]/g)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
  }
  return depth > 0;
}
