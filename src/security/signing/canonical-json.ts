/**
 * Canonical JSON (RFC 8785): members sorted by name, no white space, numbers and strings as ECMAScript
 * writes them. Throws for values that JSON cannot represent.
 * @example
 * ```ts
 * import { canonicalJson } from "callwire/security/signing";
 *
 * console.log(canonicalJson({ b: 1, a: [2.0] })); // {"a":[2],"b":1}
 * ```
 */
export function canonicalJson(value: unknown): string {
  const text = write(value);
  if (text === undefined) throw new TypeError("the value cannot be written as JSON");
  return text;
}

function write(given: unknown): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  switch (typeof value) {
    case "string":
      return textOf(value);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${value} cannot be written as JSON`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      throw new TypeError("a BigInt cannot be written as JSON");
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? arrayText(value) : objectText(value);
    default:
      return undefined;
  }
}

function arrayText(values: readonly unknown[]): string {
  return `[${values.map((each) => write(each) ?? "null").join(",")}]`;
}

function objectText(value: object): string {
  const members: string[] = [];
  // `sort` compares UTF-16 code units, as RFC 8785 requires.
  for (const name of Object.keys(value).sort()) {
    const text = write((value as Record<string, unknown>)[name]);
    if (text !== undefined) members.push(`${textOf(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

const loneSurrogate = /\p{Surrogate}/u;

function textOf(text: string): string {
  if (loneSurrogate.test(text))
    throw new TypeError("a string has a lone surrogate, which canonical JSON does not allow");
  return JSON.stringify(text);
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { toJSON?: unknown }).toJSON === "function"
  );
}
