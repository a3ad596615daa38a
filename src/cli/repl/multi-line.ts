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
