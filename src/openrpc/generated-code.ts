import { printable } from "../protocol/printable.ts";
import { pascal } from "./shared-schemas.ts";
import type { OpenrpcMethod } from "./specification.ts";

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

/** Methods in the groups that their names spell. */
export type MethodTree = Map<string, OpenrpcMethod | MethodTree>;

/** Groups within groups beyond this are too much for the compilers that read them. */
const deepest = 32;

/** Nests `math/add` as `math` and `add`; a name that cannot be nested stays whole. */
export function methodTree(methods: readonly OpenrpcMethod[]): MethodTree {
  const names = new Set(methods.map(({ name }) => name));
  const tree: MethodTree = new Map();
  for (const method of methods) {
    const path = method.name.split("/");
    const isWhole =
      path.length > deepest ||
      path.some(
        // A group that is a method too has no place for others, and promises are known by "then".
        (part, i) =>
          part === "" || part === "then" || (i > 0 && names.has(path.slice(0, i).join("/"))),
      );
    if (isWhole) tree.set(method.name, method);
    else put(tree, path, method);
  }
  return tree;
}

function put(tree: MethodTree, [first, ...rest]: readonly string[], method: OpenrpcMethod): void {
  const key = first as string;
  if (rest.length === 0) {
    tree.set(key, method);
    return;
  }
  let group = tree.get(key);
  if (!(group instanceof Map)) {
    group = new Map();
    tree.set(key, group);
  }
  put(group, rest, method);
}
