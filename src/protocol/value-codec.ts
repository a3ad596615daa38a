import type { TypedPaths } from "./message.ts";
import { isEnvelope } from "./parse.ts";
import { type AnyValueType, builtInOf, builtIns, type Form, must } from "./value-types.ts";

/** A value in its JSON form, and the types of what JSON cannot express in it. */
export class TypedJson {
  readonly value: unknown;
  readonly types: TypedPaths;

  constructor(value: unknown, types: TypedPaths) {
    this.value = value;
    this.types = types;
  }
}

type Container = Record<string, unknown>;

/** Turns rich values into JSON and the types that go with it, and back. */
export class ValueCodec {
  readonly #forms = new Map<string, Form>(Object.entries(builtIns));
  readonly #own: readonly AnyValueType[];
  readonly #most: number;

  /** `most` is the limit of rich values in what is decoded. */
  constructor(own: readonly AnyValueType[] = [], most = 5000) {
    this.#own = own;
    this.#most = most;
    for (const type of own) {
      if (this.#forms.has(type.name)) {
        throw new TypeError(`there are two value types with the name "${type.name}"`);
      }
      this.#forms.set(type.name, type);
    }
  }

  /** Undefined if JSON can express the value as it is. */
  encode(value: unknown): TypedJson | undefined {
    if (typeof value === "string" || typeof value === "boolean") return undefined;
    const encoding = new Encoding(this.#forms, this.#own);
    const json = encoding.encode(value);
    return encoding.types && new TypedJson(json, encoding.types);
  }

  /** The members `value` and `types` of a notification about a call. */
  members(value: unknown): { readonly value: unknown; readonly types?: TypedPaths } {
    return value instanceof TypedJson ? { ...value } : { ...(this.encode(value) ?? { value }) };
  }

  /** A copy of the JSON with its rich values. Throws a TypeError if the types do not fit. */
  decode(json: unknown, types: unknown): unknown {
    if (!isEnvelope(types)) throw new TypeError('the member "types" must be an object');
    const named = types as Record<string, string>;
    const paths = Object.keys(named);
    if (paths.length === 0) return json;
    if (paths.length > this.#most) throw new TypeError(`more than ${this.#most} values have types`);
    // Every path begins with an empty step, so the value itself is replaced like any part of it.
    const root: Container = { "": json };
    const copies = new Set<unknown>();
    // Nested values have longer paths and come first, whatever order other programs wrote them in.
    for (const path of paths.sort((a, b) => b.length - a.length)) {
      const name = named[path] as string;
      try {
        const form = this.#forms.get(name) as Form;
        const steps = path.split("/").map(unescaped);
        const last = steps.pop() as string;
        const parent = steps.reduce((at, step) => ownCopy(at, step, copies), root);
        parent[last] = form.fromJson(ownMember(parent, last));
      } catch (cause) {
        throw new TypeError(`there is no ${shown(name)} at ${shown(path)}`, { cause });
      }
    }
    return root[""];
  }
}

/** One value on its way to JSON. */
class Encoding {
  types: Record<string, string> | undefined;
  readonly #forms: ReadonlyMap<string, Form>;
  readonly #own: readonly AnyValueType[];
  readonly #path: (string | number)[] = [];
  /** The objects around the current one. */
  readonly #around: object[] = [];

  constructor(forms: ReadonlyMap<string, Form>, own: readonly AnyValueType[]) {
    this.#forms = forms;
    this.#own = own;
  }

  /** Returns the value itself if nothing in it is rich. */
  encode(value: unknown): unknown {
    switch (typeof value) {
      case "object":
        return value === null ? value : this.#object(value);
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : this.#typed("number", value);
      case "bigint":
      case "undefined":
        return this.#typed(typeof value, value);
      default:
        return value;
    }
  }

  #object(value: object): unknown {
    if (this.#around.includes(value)) throw new TypeError("a value contains itself");
    this.#around.push(value);
    const json = this.#json(value);
    this.#around.pop();
    return json;
  }

  #json(value: object): unknown {
    for (const type of this.#own) if (type.test(value)) return this.#typed(type.name, value);
    if (Array.isArray(value)) return this.#array(value);
    const name = builtInOf(value);
    if (name !== undefined) return this.#typed(name, value);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.#members(value);
    return this.encode(toJSON.call(value, `${this.#path.at(-1) ?? ""}`));
  }

  #array(array: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    const depth = this.#path.length;
    for (let i = 0; i < array.length; i++) {
      this.#path[depth] = i;
      const member = array[i];
      const json = this.encode(member);
      if (json === member) continue;
      copy ??= array.slice();
      copy[i] = json;
    }
    this.#path.length = depth;
    return copy ?? array;
  }

  #members(object: object): object {
    let copy: Container | undefined;
    const depth = this.#path.length;
    for (const key of Object.keys(object)) {
      const member = (object as Container)[key];
      // JSON leaves out undefined members, and no peer takes a path through this name.
      if (member === undefined || key === "__proto__") continue;
      this.#path[depth] = key;
      const json = this.encode(member);
      if (json === member) continue;
      copy ??= { ...object };
      copy[key] = json;
    }
    this.#path.length = depth;
    return copy ?? object;
  }

  #typed(name: string, value: unknown): unknown {
    const json = this.encode(this.#forms.get(name)?.toJson(value));
    const path = this.#path.map((step) => `/${escaped(step)}`).join("");
    this.types ??= {};
    if (Object.hasOwn(this.types, path)) {
      throw new TypeError(`toJson of the value type "${name}" must not return a rich value`);
    }
    this.types[path] = name;
    return json;
  }
}

/** A member that the wire may name: its own, and no part of a decoded value. */
function ownMember(at: Container, key: string): unknown {
  const isIndex = key !== "length" || !Array.isArray(at);
  must(isIndex && key !== "__proto__" && Object.hasOwn(at, key));
  return at[key];
}

/** The same if it is an array or an object, replaced by a copy that may be changed. */
function ownCopy(at: Container, key: string, copies: Set<unknown>): Container {
  const member = ownMember(at, key) as Container;
  if (copies.has(member)) return member;
  const isArray = Array.isArray(member);
  must(isArray || Object.getPrototypeOf(member) === Object.prototype);
  const copy = (isArray ? member.slice() : { ...member }) as Container;
  copies.add(copy);
  at[key] = copy;
  return copy;
}

/** The steps of a path are written as in a JSON Pointer (RFC 6901). */
function escaped(step: string | number): string | number {
  return typeof step === "number" ? step : step.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescaped(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 100);
}
