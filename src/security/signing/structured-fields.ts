/** The part of Structured Fields (RFC 8941) that signature headers use. */

export type BareItem = string | number | boolean | Token | Uint8Array;

export class Token {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export type Parameters = ReadonlyMap<string, BareItem>;

export interface Item {
  readonly value: BareItem;
  readonly parameters: Parameters;
}

export interface InnerList {
  readonly items: readonly Item[];
  readonly parameters: Parameters;
}

export type Member = Item | InnerList;

/** The members of a dictionary by name; undefined if the header is malformed. */
export function parseDictionary(text: string): ReadonlyMap<string, Member> | undefined {
  try {
    return new Reader(text).dictionary();
  } catch {
    return undefined;
  }
}

export function isInnerList(member: Member | undefined): member is InnerList {
  return member !== undefined && "items" in member;
}

export function itemText({ value, parameters }: Item): string {
  return bareText(value) + parametersText(parameters);
}

export function innerListText({ items, parameters }: InnerList): string {
  let text = "";
  for (const item of items) text += text === "" ? itemText(item) : ` ${itemText(item)}`;
  return `(${text})${parametersText(parameters)}`;
}

export function bytesText(bytes: Uint8Array): string {
  return `:${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}:`;
}

function parametersText(parameters: Parameters): string {
  let text = "";
  for (const [name, value] of parameters) {
    text += value === true ? `;${name}` : `;${name}=${bareText(value)}`;
  }
  return text;
}

function bareText(value: BareItem): string {
  if (typeof value === "string") {
    return /[\\"]/.test(value) ? `"${value.replace(/[\\"]/g, "\\$&")}"` : `"${value}"`;
  }
  if (typeof value === "number") return `${value}`;
  if (typeof value === "boolean") return value ? "?1" : "?0";
  return value instanceof Token ? value.name : bytesText(value);
}

const keyPattern = /[a-z*][a-z0-9_.*-]*/y;
const stringPattern = /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y;
/** Padding is optional, but a single leftover character is not valid base64. */
const bytesPattern = /:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?:/y;
const integerPattern = /-?\d{1,15}(?![\d.])/y;
const tokenPattern = /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y;
const spacePattern = /[ \t]*/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    while (this.#take(" "));
  }

  dictionary(): Map<string, Member> {
    const members = new Map<string, Member>();
    while (this.#at < this.#text.length) {
      const name = this.#match(keyPattern);
      // RFC 8941 lets the last of two win, which could hide a signature.
      if (members.has(name)) throw new SyntaxError("duplicate member");
      members.set(name, this.#take("=") ? this.#member() : this.#flag());
      this.#match(spacePattern);
      if (this.#at === this.#text.length) break;
      if (!this.#take(",")) throw new SyntaxError("missing comma");
      this.#match(spacePattern);
      if (this.#at === this.#text.length) throw new SyntaxError("trailing comma");
    }
    return members;
  }

  #flag(): Item {
    return { value: true, parameters: this.#parameters() };
  }

  #member(): Member {
    if (!this.#take("(")) return this.#item();
    const items: Item[] = [];
    for (;;) {
      while (this.#take(" "));
      if (this.#take(")")) return { items, parameters: this.#parameters() };
      items.push(this.#item());
      const next = this.#text[this.#at];
      if (next !== " " && next !== ")") throw new SyntaxError("unterminated inner list");
    }
  }

  #item(): Item {
    return { value: this.#bare(), parameters: this.#parameters() };
  }

  #parameters(): Parameters {
    const parameters = new Map<string, BareItem>();
    while (this.#take(";")) {
      while (this.#take(" "));
      const name = this.#match(keyPattern);
      if (parameters.has(name)) throw new SyntaxError("duplicate parameter");
      parameters.set(name, this.#take("=") ? this.#bare() : true);
    }
    return parameters;
  }

  #bare(): BareItem {
    switch (this.#text[this.#at]) {
      case '"':
        return unescaped(this.#match(stringPattern).slice(1, -1));
      case ":":
        return Buffer.from(this.#match(bytesPattern).slice(1, -1), "base64");
      case "?":
        this.#at++;
        if (this.#take("1")) return true;
        if (this.#take("0")) return false;
        throw new SyntaxError("a boolean must be ?0 or ?1");
    }
    const first = this.#text.charCodeAt(this.#at);
    if (first === 0x2d || (first >= 0x30 && first <= 0x39)) {
      return Number(this.#match(integerPattern));
    }
    return new Token(this.#match(tokenPattern));
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string {
    const start = this.#at;
    pattern.lastIndex = start;
    // `test` does not allocate a match array.
    if (!pattern.test(this.#text)) throw new SyntaxError("malformed structured field");
    this.#at = pattern.lastIndex;
    return this.#text.slice(start, this.#at);
  }
}

function unescaped(text: string): string {
  return text.includes("\\") ? text.replace(/\\(.)/g, "$1") : text;
}
