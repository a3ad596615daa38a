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
  return text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).map((line) =>
    Array.from(line, (character) => (isControl(character) ? " " : character))
      .join("")
      .trimEnd(),
  );
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) as number;
  // Marks that turn the direction of writing can make code read as something else.
  return (
    code < 32 ||
    (code > 126 && code < 160) ||
    /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(character)
  );
}
