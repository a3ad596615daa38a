import type { JsonSchema, JsonSchemaObject } from "./json-schema.ts";
import { componentOf } from "./json-schema.ts";

/** Longest chain of references that is followed; a circle has no end. */
const longestChain = 16;

/**
 * Describes what a schema requires of a value beside its TypeScript type: `integer, 0 to 10, default 3`.
 * @example
 * ```ts
 * import { schemaLimits } from "callwire/openrpc";
 *
 * console.log(schemaLimits({ type: "integer", minimum: 0, maximum: 10 })); // integer, 0 to 10
 * ```
 */
export function schemaLimits(
  schema: JsonSchema | undefined,
  components: Readonly<Record<string, JsonSchema>> = {},
): string {
  const known = resolved(schema, components);
  const { type, format, pattern, multipleOf } = known;
  const parts = [
    ...(type === "integer" ? ["integer"] : []),
    ...numbersOf(known),
    ...(isNumber(multipleOf) ? [`multiple of ${multipleOf}`] : []),
    ...lengthsOf(known.minLength, known.maxLength, "characters"),
    ...lengthsOf(known.minItems, known.maxItems, "items"),
    ...(known.uniqueItems === true ? ["all different"] : []),
    ...(typeof format === "string" ? [format] : []),
    // A format such as "date" usually comes with a long pattern that means the same.
    ...(typeof pattern === "string" && format === undefined ? [`matches /${pattern}/`] : []),
    ...("default" in known ? [`default ${JSON.stringify(known.default)}`] : []),
  ];
  return parts.join(", ");
}

function resolved(
  schema: JsonSchema | undefined,
  components: Readonly<Record<string, JsonSchema>>,
): JsonSchemaObject {
  let found = schema;
  for (let i = 0; i < longestChain; i++) {
    if (typeof found !== "object" || found === null) return {};
    if (typeof found.$ref !== "string") return found;
    const name = componentOf(found.$ref) ?? "";
    found = Object.hasOwn(components, name) ? components[name] : undefined;
  }
  return {};
}

/** Some libraries write the range of safe integers, which says nothing. */
function isNumber(limit: unknown): limit is number {
  return typeof limit === "number" && Math.abs(limit) < Number.MAX_SAFE_INTEGER;
}

function numbersOf({
  minimum,
  maximum,
  exclusiveMinimum: above,
  exclusiveMaximum: below,
}: JsonSchemaObject): string[] {
  if (isNumber(minimum) && isNumber(maximum)) return [`${minimum} to ${maximum}`];
  return [
    ...(isNumber(minimum) ? [`at least ${minimum}`] : []),
    ...(isNumber(above) ? [`above ${above}`] : []),
    ...(isNumber(maximum) ? [`at most ${maximum}`] : []),
    ...(isNumber(below) ? [`below ${below}`] : []),
  ];
}

function lengthsOf(least: unknown, most: unknown, what: string): string[] {
  if (isNumber(most)) {
    const from = isNumber(least) ? least : 0;
    return [from === most ? `exactly ${most} ${what}` : `${from} to ${most} ${what}`];
  }
  if (!isNumber(least) || least === 0) return [];
  return [least === 1 ? "not empty" : `at least ${least} ${what}`];
}
