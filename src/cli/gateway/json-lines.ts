import { parsed } from "../json-values.ts";
/** A syntax error in JSON, with its line, counted from one. */
export class JsonFault extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.name = "JsonFault";
    this.line = line;
  }
}

/**
 * Finds the line of the value at a path. Unlike JSON.parse, it throws a JsonFault with a line forevery syntax error,
 * and for duplicate names.
 */
export function linesOf(text: string): (path: readonly PropertyKey[]) => number {
  const whole = new Reader(text).whole();
  return (path) => {
    let value = whole;
    for (const key of path) {
      const member = value.members?.get(key);
      // For a missing member, use the line of its parent.
      if (member === undefined) break;
      value = member;
    }
    return lineAt(text, value.at);
  };
}

interface Token {
  readonly at: number;
  readonly text: string;
}

interface Value {
  readonly at: number;
  readonly members?: ReadonlyMap<PropertyKey, Value>;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Value {
    const value = this.#value(this.#next(), []);
    const rest = this.#next();
    if (rest.text !== "") throw this.#unexpected(rest, "the end");
    return value;
  }

  #value(token: Token, path: readonly PropertyKey[]): Value {
    const { at, text } = token;
    if (text === "{") return { at, members: this.#members("}", path) };
    if (text === "[") return { at, members: this.#members("]", path) };
    if (!isJson(text)) throw this.#unexpected(token, "a value");
    return { at };
  }

  #members(end: "}" | "]", path: readonly PropertyKey[]): Map<PropertyKey, Value> {
    const members = new Map<PropertyKey, Value>();
    let token = this.#next();
    if (token.text === end) return members;
    for (;;) {
      const key = end === "]" ? members.size : this.#name(token);
      const inner = [...path, key];
      if (members.has(key)) throw this.#fault(token, `${inner.join(".")}: duplicate name`);
      members.set(key, this.#value(end === "]" ? token : this.#next(), inner));
      const after = this.#next();
      if (after.text === end) return members;
      if (after.text !== ",") throw this.#unexpected(after, `"," or "${end}"`);
      token = this.#next();
    }
  }

  #name(token: Token): string {
    const isName = token.text.startsWith('"') && isJson(token.text);
    if (!isName) throw this.#unexpected(token, "a name in double quotes");
    const colon = this.#next();
    if (colon.text !== ":") throw this.#unexpected(colon, '":"');
    return JSON.parse(token.text);
  }

  /** Punctuation, a string, or any other word; empty at the end. */
  #next(): Token {
    const token = /[ \t\r\n]*([{}[\],:]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^\s{}[\],:"]+|[\s\S]?)/y;
    token.lastIndex = this.#at;
    const text = token.exec(this.#text)?.[1] ?? "";
    this.#at = token.lastIndex;
    return { at: this.#at - text.length, text };
  }

  #unexpected(token: Token, wanted: string): JsonFault {
    const { at, text } = token;
    const found = text === "" ? "the end" : JSON.stringify(text.slice(0, 20));
    const what =
      text.startsWith('"') && !isJson(text)
        ? "a string that is not closed or has an invalid escape"
        : `expected ${wanted}, not ${found}`;
    const column = at - this.#text.lastIndexOf("\n", at - 1);
    return this.#fault(token, `invalid JSON (column ${column}: ${what})`);
  }

  #fault({ at }: Token, message: string): JsonFault {
    return new JsonFault(message, lineAt(this.#text, at));
  }
}

function isJson(text: string): boolean {
  return parsed(text) !== undefined;
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
