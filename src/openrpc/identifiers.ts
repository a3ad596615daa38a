import { printable } from "../protocol/printable.ts";
import { pascal } from "./shared-schemas.ts";

const identifier = /^[A-Za-z_$][\w$]*$/;

export function isIdentifier(name: string): boolean {
  return identifier.test(name);
}

/** Gives each name an identifier of its own: the name itself where it can be, else one made of it. */
export class Identifiers {
  readonly #taken: Set<string>;
  /** The last number that was given behind a name; a thousand may come to the same one. */
  readonly #last = new Map<string, number>();
  readonly #make: (name: string) => string;

  /** `make` turns any text into an identifier, or into nothing. */
  constructor(reserved: Iterable<string>, make: (name: string) => string = typeName) {
    this.#taken = new Set(reserved);
    this.#make = make;
  }

  claim(name: string): string {
    const wanted = this.#make(name) || "Type";
    for (let n = (this.#last.get(wanted) ?? 0) + 1; ; n++) {
      const candidate = n === 1 ? wanted : `${wanted}${n}`;
      if (this.#taken.has(candidate)) continue;
      this.#taken.add(candidate);
      this.#last.set(wanted, n);
      return candidate;
    }
  }
}

function typeName(name: string): string {
  if (isIdentifier(name)) return name;
  const made = pascal(name);
  return /^\d/.test(made) ? `T${made}` : made;
}

/** The lines of a text that others wrote, without characters that would end a comment's line. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).map((line) => blanked(line).trimEnd());
}

/** With a blank for each character that would act on what shows it. */
function blanked(line: string): string {
  return printable(line) === line
    ? line
    : Array.from(line, (character) => (printable(character) === character ? character : " ")).join(
        "",
      );
}

/** A string or another JSON value as code has it, in JavaScript and in Python. */
export function literalOf(value: unknown): string {
  return printable(JSON.stringify(value) ?? "null");
}
