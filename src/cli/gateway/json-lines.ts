/** Where in a text of JSON the value at a path begins, as a line counted from one. */
export function lineOf(text: string, path: readonly PropertyKey[]): number {
  const walker = new Walker(text);
  let at = walker.skipSpace(0);
  for (const key of path) {
    const found = walker.member(at, key);
    // What is missing has no place, so the line of what lacks it is told.
    if (found === undefined) break;
    at = found;
  }
  return lineAt(text, at);
}

/** The line on which JSON.parse stopped, if its error says so. */
export function lineOfParseError(text: string, error: unknown): number | undefined {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : "")?.[1];
  if (position !== undefined) return lineAt(text, Number(position));
  return /end of JSON/.test(String(error)) ? lineAt(text, text.length) : undefined;
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

/** Goes through text that is known to be JSON. */
class Walker {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Where a member of the object or array at `start` begins. */
  member(start: number, key: PropertyKey): number | undefined {
    const isArray = this.#text[start] === "[";
    if (!isArray && this.#text[start] !== "{") return undefined;
    let at = this.skipSpace(start + 1);
    for (let index = 0; this.#text[at] !== "]" && this.#text[at] !== "}"; index++) {
      let name: PropertyKey = index;
      if (!isArray) {
        const end = this.#end(at);
        name = JSON.parse(this.#text.slice(at, end)) as string;
        at = this.skipSpace(this.skipSpace(end) + 1);
      }
      if (name === key) return at;
      at = this.skipSpace(this.#end(at));
      if (this.#text[at] === ",") at = this.skipSpace(at + 1);
    }
    return undefined;
  }

  skipSpace(from: number): number {
    let at = from;
    while (/\s/.test(this.#text[at] ?? "")) at++;
    return at;
  }

  /** Where the value that begins at `start` ends. */
  #end(start: number): number {
    const first = this.#text[start];
    if (first === '"') {
      let at = start + 1;
      while (this.#text[at] !== '"') at += this.#text[at] === "\\" ? 2 : 1;
      return at + 1;
    }
    if (first === "{" || first === "[") {
      let at = this.skipSpace(start + 1);
      while (this.#text[at] !== "}" && this.#text[at] !== "]") {
        at = this.skipSpace(this.#end(at));
        if (this.#text[at] === "," || this.#text[at] === ":") at = this.skipSpace(at + 1);
      }
      return at + 1;
    }
    let at = start;
    while (/[^\s,\]}]/.test(this.#text[at] ?? " ")) at++;
    return at;
  }
}
