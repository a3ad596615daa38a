import { printable } from "../protocol/printable.ts";
import { pascal } from "./shared-schemas.ts";
import type { OpenrpcMethod } from "./specification.ts";

const identifier = /^[A-Za-z_$][\w$]*$/;

export function isIdentifier(name: string): boolean {
  return identifier.test(name);
}

/** Assigns each name a unique identifier: the name itself if possible, else one derived from it. */
export class Identifiers {
  readonly #taken: Set<string>;
  /** The last suffix used per name, so that many equal names stay fast. */
  readonly #last = new Map<string, number>();
  readonly #make: (name: string) => string;

  /** `make` turns a string into an identifier, or into an empty string. */
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

/** The lines of an untrusted text, without characters that would end a comment line. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).map((line) => blanked(line).trimEnd());
}

/** Replaces control characters by blanks. */
function blanked(line: string): string {
  return printable(line) === line
    ? line
    : Array.from(line, (character) => (printable(character) === character ? character : " ")).join(
        "",
      );
}

/** A JSON value as a literal for JavaScript and Python. */
export function literalOf(value: unknown): string {
  return printable(JSON.stringify(value) ?? "null");
}

/** Methods nested in groups by their names. */
export type MethodTree = Map<string, OpenrpcMethod | MethodTree>;

/** Deepest nesting of groups that compilers can handle. */
const deepest = 32;

/** Nests `math/add` as `math` and `add`; a name that cannot be nested stays as it is. */
export function methodTree(methods: readonly OpenrpcMethod[]): MethodTree {
  const names = new Set(methods.map(({ name }) => name));
  const tree: MethodTree = new Map();
  for (const method of methods) {
    const path = method.name.split("/");
    const isWhole =
      path.length > deepest ||
      path.some(
        // A group cannot also be a method, and a member "then" would look like a promise.
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
