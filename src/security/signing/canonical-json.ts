/**
 * The one form of a value as JSON (RFC 8785): members sorted by their names, no spaces, numbers and
 * texts as ECMAScript writes them. Throws for what JSON cannot hold.
 * @example
 * ```ts
 * import { canonicalJson } from "callwire/security/signing";
 *
 * console.log(canonicalJson({ b: 1, a: [2.0] })); // {"a":[2],"b":1}
 * ```
 */
export function canonicalJson(value: unknown): string {
  const text = write(value);
  if (text === undefined) throw new TypeError("there is no JSON for this value");
  return text;
}

function write(given: unknown): string | undefined {
  const value = hasToJson(given) ? given.toJSON() : given;
  switch (typeof value) {
    case "string":
      return textOf(value);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      throw new TypeError("JSON has no BigInt");
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
  // Sorted by UTF-16 code units, as the standard wants it.
  for (const name of Object.keys(value).sort()) {
    const text = write((value as Record<string, unknown>)[name]);
    if (text !== undefined) members.push(`${textOf(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

const loneSurrogate = /\p{Surrogate}/u;

function textOf(text: string): string {
  if (loneSurrogate.test(text)) throw new TypeError("a text holds half a character");
  return JSON.stringify(text);
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as { toJSON?: unknown }).toJSON === "function"
  );
}
