import { componentOf, type JsonSchema } from "./json-schema.ts";
import { richKeyword } from "./rich-schema.ts";

/** Where the rich values of a schema are: the type of the value, of its members, of its elements. */
export interface RichForm {
  readonly type?: string;
  readonly members?: Readonly<Record<string, RichForm>>;
  readonly elements?: RichForm;
  /** Of the elements of a tuple. */
  readonly places?: readonly RichForm[];
}

/** Deepest nesting that is looked at; a hostile schema must not exhaust the stack, nor a recursive one. */
const deepest = 8;

/** Undefined if there are none. */
export function richFormOf(
  schema: JsonSchema,
  components: Readonly<Record<string, JsonSchema>>,
  depth = 0,
): RichForm | undefined {
  if (typeof schema === "boolean" || depth > deepest) return undefined;
  const inner = (part: JsonSchema) => richFormOf(part, components, depth + 1);
  const { $ref, properties = {}, items } = schema;
  if (typeof $ref === "string") {
    const name = componentOf($ref);
    const known = name !== undefined && Object.hasOwn(components, name) ? components[name] : true;
    return inner(known as JsonSchema);
  }
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray);
  const chosen = choices
    ?.map((part) => inner(part as JsonSchema))
    .find((form) => form !== undefined);
  if (chosen !== undefined) return chosen;
  const type = schema[richKeyword];
  const members = Object.entries(properties).flatMap(([name, member]) => {
    const form = inner(member);
    return form === undefined ? [] : [[name, form] as const];
  });
  const places = Array.isArray(items) ? items.map((item: JsonSchema) => inner(item) ?? {}) : [];
  const elements = Array.isArray(items) ? undefined : inner((items ?? true) as JsonSchema);
  const form: RichForm = {
    ...(typeof type === "string" ? { type } : undefined),
    ...(members.length === 0 ? undefined : { members: Object.fromEntries(members) }),
    ...(elements === undefined ? undefined : { elements }),
    ...(places.some((place) => Object.keys(place).length > 0) ? { places } : undefined),
  };
  return Object.keys(form).length === 0 ? undefined : form;
}
