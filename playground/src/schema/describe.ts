import type { JsonSchema } from "callwire/openrpc";
import { Patience } from "./patience.ts";
import { type Components, choicesOf, isObject, resolved, typesOf, variantsOf } from "./resolve.ts";

/** Rich values that are written as something else in JSON. */
const richNames: ReadonlyMap<unknown, string> = new Map([
  ["date", "Date"],
  ["bigint", "bigint"],
  ["url", "URL"],
  ["bytes", "bytes"],
  ["buffer", "bytes"],
  ["file", "File"],
  ["blob", "Blob"],
  ["stream", "stream of bytes"],
]);

/** A short form of a type, as in TypeScript: `"a" | "b"`, `number[]`, `{ x, y? }`. */
export function typeText(
  schema: JsonSchema | undefined,
  components: Components,
  depth = 0,
  patience = new Patience(1_000),
): string {
  const known = resolved(schema, components);
  if (depth > 3 || patience.isOver()) return "…";
  const rich = richNames.get(known["x-callwire-type"]);
  if (rich !== undefined) return rich;
  const choices = choicesOf(known);
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const variants = variantsOf(known);
  if (variants !== undefined) {
    const parts = variants.map((variant) => typeText(variant, components, depth + 1, patience));
    return [...new Set(parts)].join(" | ");
  }
  const types = typesOf(known);
  if (types.length === 0) return Array.isArray(known.allOf) ? "object" : "any";
  return types
    .map((type) => {
      if (type === "array") {
        const { items } = known;
        if (Array.isArray(items)) {
          return `[${items.map((item: JsonSchema) => typeText(item, components, depth + 1, patience)).join(", ")}]`;
        }
        const inner = typeText(items as JsonSchema | undefined, components, depth + 1, patience);
        return inner.includes(" ") ? `(${inner})[]` : `${inner}[]`;
      }
      if (type !== "object") return type;
      const { properties = {}, required = [] } = known;
      const names = Object.keys(properties);
      if (names.length === 0)
        return isObject(known.additionalProperties)
          ? `{ [name]: ${typeText(known.additionalProperties as JsonSchema, components, depth + 1, patience)} }`
          : "object";
      return `{ ${names.map((name) => (required.includes(name) ? name : `${name}?`)).join(", ")} }`;
    })
    .join(" | ");
}
