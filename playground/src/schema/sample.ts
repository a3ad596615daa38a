import type { JsonSchema } from "callwire/openrpc";
import { Patience } from "./patience.ts";
import { type Components, choicesOf, fileTypes, resolved, typesOf, variantsOf } from "./resolve.ts";

/** An initial value: the default, an example, or the smallest one that the schema allows. */
export function sampleOf(
  schema: JsonSchema | undefined,
  components: Components,
  depth = 0,
  patience = new Patience(1_000),
): unknown {
  if (patience.isOver()) return null;
  const known = resolved(schema, components);
  if ("default" in known) return known.default;
  if (Array.isArray(known.examples) && known.examples.length > 0) return known.examples[0];
  // Only the user can choose a file.
  if (fileTypes.has(known["x-callwire-type"])) return undefined;
  const choices = choicesOf(known);
  if (choices !== undefined) return choices[0];
  const [variant] = variantsOf(known) ?? [];
  if (variant !== undefined)
    return depth > 8 ? null : sampleOf(variant, components, depth + 1, patience);
  const [type] = typesOf(known);
  switch (type) {
    case "string":
      return "";
    case "number":
    case "integer":
      return typeof known.minimum === "number" && known.minimum > 0 ? known.minimum : 0;
    case "boolean":
      return false;
    case "array":
      return depth > 8 || !Array.isArray(known.items)
        ? []
        : known.items.map((item: JsonSchema) => sampleOf(item, components, depth + 1, patience));
    case "object": {
      if (depth > 8) return {};
      const { properties = {}, required = [] } = known;
      const names = required.filter((name) => Object.hasOwn(properties, name));
      const members = names.map(
        (name) => [name, sampleOf(properties[name], components, depth + 1, patience)] as const,
      );
      return Object.fromEntries(members.filter(([, value]) => value !== undefined));
    }
    case "null":
      return null;
    default:
      return "";
  }
}
