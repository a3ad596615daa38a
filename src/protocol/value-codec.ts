import { type Attachments, type ByteKind, isByteKind } from "./attachments.ts";
import { isEnvelope } from "./envelope.ts";
import { type Container, escaped, ownMember, unescaped } from "./json-pointer.ts";
import type { TypedPaths } from "./message.ts";
import { ReceivedBytes } from "./received-bytes.ts";
import { attachedFromBytes, byteKindOf, SentBytes } from "./sent-bytes.ts";
import { type AnyValueType, builtInOf, builtIns, type Form, must } from "./value-types.ts";

/** A value in its JSON form, and the types of what JSON cannot express in it. */
export class TypedJson {
  readonly value: unknown;
  readonly types: TypedPaths;
  readonly attachments: Attachments | undefined;

  constructor(value: unknown, types: TypedPaths, attachments?: Attachments) {
    this.value = value;
    this.types = types;
    this.attachments = attachments;
  }
}

/** Types whose JSON is a single string or null, so that no path leads into it. */
const leaves = new Set([
  "date",
  "bigint",
  "number",
  "undefined",
  "url",
  "bytes",
  "buffer",
  "blob",
  "file",
  "stream",
]);

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
      if (this.#forms.has(type.name) || isByteKind(type.name)) {
        throw new TypeError(`there are two value types with the name "${type.name}"`);
      }
      this.#forms.set(type.name, type);
    }
  }

  /**
   * Undefined if JSON can express the value as it is. With `attaches`, long arrays of bytes are attached; Blobs and
   * streams always are.
   */
  encode(value: unknown, attaches = false): TypedJson | undefined {
    // Most values have nothing rich.
    if (isNatural(value, this.#own)) return undefined;
    return new Encoding(this.#forms, this.#own, attaches).typed(value);
  }

  /** A copy of the JSON with its rich values. Throws a TypeError if the types do not fit. */
  decode(json: unknown, types: unknown, bytes: ReceivedBytes = inlineOnly): unknown {
    if (!isEnvelope(types)) throw new TypeError('the member "types" must be an object');
    const names = Object.keys(types);
    if (names.length === 0) return json;
    const decoding = new Decoding(json);
    const nesting: (readonly [path: string, name: string, form: Form])[] = [];
    let count = 0;
    for (const name of names) {
      const paths = (types as Record<string, unknown>)[name];
      const form = isByteKind(name) ? formOf(name, bytes) : this.#forms.get(name);
      if (form === undefined || !Array.isArray(paths)) {
        throw new TypeError(`the type ${shown(name)} is unknown, or has no array of paths`);
      }
      count += paths.length;
      if (count > this.#most) throw new TypeError(`more than ${this.#most} values have types`);
      const isLeaf = leaves.has(name);
      for (const path of paths) {
        if (isLeaf) decoding.replace(path, name, form);
        else nesting.push([path, name, form]);
      }
    }
    // What is nested has a longer path and comes first, whatever order other programs wrote it in.
    nesting.sort(([a], [b]) => b.length - a.length);
    for (const [path, name, form] of nesting) decoding.replace(path, name, form);
    return decoding.json;
  }
}

/** For messages whose bytes are all inside them. */
const inlineOnly = new ReceivedBytes(undefined, Number.POSITIVE_INFINITY);

function formOf(kind: ByteKind, bytes: ReceivedBytes): Form {
  return { toJson: (value) => value, fromJson: (json) => bytes.value(kind, json) };
}

/** Decodes one value. */
class Decoding {
  /** Every path begins with an empty step, so the value itself is replaced like any part of it. */
  readonly #root: Container;
  /** Copies of the arrays and objects that have rich values. */
  readonly #copies = new Set<unknown>();
  /** The last path, the containers that it led through, and where each step ended: most paths differ only in their end. */
  #last = "";
  #key = "";
  readonly #through: Container[] = [];
  readonly #ends: number[] = [];

  constructor(json: unknown) {
    this.#root = { "": json };
  }

  get json(): unknown {
    return this.#root[""];
  }

  replace(path: unknown, name: string, form: Form): void {
    try {
      must(typeof path === "string");
      const parent = this.#parentOf(path as string);
      const key = this.#lastKey(path as string);
      parent[key] = form.fromJson(ownMember(parent, key));
    } catch (cause) {
      throw new TypeError(`there is no ${shown(name)} at ${shown(path)}`, { cause });
    }
  }

  /** The key of the last step, usually the same as before. Then the old string is reused, which V8 looks up faster than a new one. */
  #lastKey(path: string): string {
    const start = path.lastIndexOf("/") + 1;
    const isSame = path.length - start === this.#key.length && path.endsWith(this.#key);
    if (!isSame) this.#key = path.slice(start);
    return unescaped(this.#key);
  }

  #parentOf(path: string): Container {
    let same = 0;
    while (same < path.length && path.charCodeAt(same) === this.#last.charCodeAt(same)) same++;
    // A slash must follow in both, so that "/1" is not taken for the beginning of "/10".
    while (this.#ends.length > 0 && (this.#ends.at(-1) as number) >= same) {
      this.#ends.pop();
      this.#through.pop();
    }
    this.#last = path;
    let at = this.#through.at(-1) ?? this.#root;
    let start = (this.#ends.at(-1) ?? -1) + 1;
    for (let end = path.indexOf("/", start); end !== -1; end = path.indexOf("/", start)) {
      at = this.#copyOf(at, unescaped(path.slice(start, end)));
      this.#through.push(at);
      this.#ends.push(end);
      start = end + 1;
    }
    return at;
  }

  #copyOf(at: Container, key: string): Container {
    const member = ownMember(at, key) as Container;
    if (this.#copies.has(member)) return member;
    const isArray = Array.isArray(member);
    must(isArray || Object.getPrototypeOf(member) === Object.prototype);
    const copy = (isArray ? member.slice() : { ...member }) as Container;
    this.#copies.add(copy);
    at[key] = copy;
    return copy;
  }
}

/** Encodes one value. */
class Encoding {
  #types: Record<string, string[]> | undefined;
  readonly #forms: ReadonlyMap<string, Form>;
  readonly #own: readonly AnyValueType[];
  /** The objects around the current value. */
  readonly #around: object[] = [];
  /** The keys that lead to the current value. */
  readonly #keys: (string | number)[] = [];
  /** The paths of the first keys, as far as they were needed: most paths differ only in their end. */
  readonly #paths: (string | undefined)[] = [""];
  /** The path that was noted last. */
  #noted: string | undefined;
  #bytes: SentBytes | undefined;
  /** Whether long arrays of bytes are attached. */
  readonly #attaches: boolean;

  constructor(forms: ReadonlyMap<string, Form>, own: readonly AnyValueType[], attaches: boolean) {
    this.#forms = forms;
    this.#own = own;
    this.#attaches = attaches;
  }

  /** Undefined if nothing in the value is rich. */
  typed(value: unknown): TypedJson | undefined {
    const json = this.#encode(value);
    return this.#types && new TypedJson(json, this.#types, this.#bytes?.number());
  }

  /** Returns the value itself if nothing in it is rich. */
  #encode(value: unknown): unknown {
    switch (typeof value) {
      case "object":
        return value === null ? value : this.#object(value);
      case "number":
        return isJson(value) ? value : this.#typed("number", value);
      case "bigint":
      case "undefined":
        return this.#typed(typeof value, value);
      default:
        return value;
    }
  }

  #object(value: object): unknown {
    // Dates are the most common rich values, and nothing is nested in them.
    if (value instanceof Date && this.#own.length === 0) return this.#typed("date", value);
    if (this.#around.includes(value)) throw new TypeError("a value contains itself");
    this.#around.push(value);
    const json = this.#json(value);
    this.#around.pop();
    return json;
  }

  #json(value: object): unknown {
    for (const type of this.#own) if (type.test(value)) return this.#typed(type.name, value);
    if (Array.isArray(value)) return this.#array(value);
    const isPlain = Object.getPrototypeOf(value) === Object.prototype;
    const name = isPlain ? undefined : builtInOf(value);
    if (name !== undefined) {
      const isLong = value instanceof Uint8Array && value.length >= attachedFromBytes;
      return isLong && this.#attaches ? this.#attached(name, value) : this.#typed(name, value);
    }
    const kind = isPlain ? undefined : byteKindOf(value);
    if (kind !== undefined) return this.#attached(kind, value as Blob);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.#members(value);
    return this.#encode(toJSON.call(value, `${this.#keys.at(-1) ?? ""}`));
  }

  #array(array: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    const depth = this.#keys.length;
    for (let i = 0; i < array.length; i++) {
      const member = array[i];
      const json = this.#member(depth, i, member);
      if (json === member) continue;
      copy ??= array.slice();
      copy[i] = json;
    }
    this.#keys.length = depth;
    return copy ?? array;
  }

  #members(object: object): object {
    let copy: Container | undefined;
    const depth = this.#keys.length;
    for (const key of Object.keys(object)) {
      const member = (object as Container)[key];
      // JSON leaves out undefined members, and peers reject paths through `__proto__`.
      if (member === undefined || key === "__proto__") continue;
      const json = this.#member(depth, key, member);
      if (json === member) continue;
      copy ??= { ...object };
      copy[key] = json;
    }
    this.#keys.length = depth;
    return copy ?? object;
  }

  #member(depth: number, key: string | number, member: unknown): unknown {
    if (isJson(member)) return member;
    this.#keys[depth] = key;
    this.#paths[depth + 1] = undefined;
    return this.#encode(member);
  }

  #typed(name: string, value: unknown): unknown {
    const json = this.#encode(this.#forms.get(name)?.toJson(value));
    this.#note(name);
    return json;
  }

  #attached(name: string, value: Uint8Array | Blob): unknown {
    this.#bytes ??= new SentBytes();
    this.#note(name);
    return this.#bytes.add(value);
  }

  /** Notes the type of the current value. */
  #note(name: string): void {
    const path = this.#path(this.#keys.length);
    if (path === this.#noted) {
      throw new TypeError(`toJson of the value type "${name}" must not return a rich value`);
    }
    this.#noted = path;
    this.#types ??= {};
    const paths = this.#types[name];
    if (paths === undefined) this.#types[name] = [path];
    else paths.push(path);
  }

  #path(depth: number): string {
    const known = this.#paths[depth];
    if (known !== undefined) return known;
    const key = this.#keys[depth - 1] as string | number;
    const path = `${this.#path(depth - 1)}/${typeof key === "number" ? key : escaped(key)}`;
    this.#paths[depth] = path;
    return path;
  }
}

/** Whether JSON can express a value with all that is in it. Also false if it nests deeper, or may contain itself. */
function isNatural(value: unknown, own: readonly AnyValueType[], levels = 32): boolean {
  if (typeof value !== "object" || value === null) return isJson(value);
  if (levels === 0) return false;
  // Not for…of: V8 makes an iterator here for each object, although there are usually no types.
  for (let i = 0; i < own.length; i++) if (own[i]?.test(value)) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (!isNatural(value[i], own, levels - 1)) return false;
    }
    return true;
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (toJSON !== undefined || Object.getPrototypeOf(value) !== Object.prototype) return false;
  for (const key in value) {
    const member = (value as Container)[key];
    if (member !== undefined && !isNatural(member, own, levels - 1)) return false;
  }
  return true;
}

/** Whether JSON can express a value; false for objects, which are examined later. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === "string" || typeof value === "boolean" || value === null;
}

function shown(value: unknown): string {
  return `${JSON.stringify(value)}`.slice(0, 100);
}
