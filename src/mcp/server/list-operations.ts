import type { Context } from "../../protocol/context.ts";
import { invalidArguments } from "../errors.ts";
import type { ResourceDescription } from "../results.ts";
import type { Catalog } from "./catalog.ts";
import { FeatureCall } from "./feature-call.ts";
import type { Operation } from "./operation.ts";
import type { Resource } from "./resource.ts";

/** The operations that list what the caller may see. */
export function listing(catalog: Catalog, pageSize: number): [string, Operation][] {
  const list =
    <F extends { visible(context: Context): boolean }, T>(
      member: string,
      features: ReadonlyMap<string, F>,
      describe: (feature: F) => T,
    ): Operation =>
    ({ cursor }, context) => {
      const seen = [...features.values()].filter((feature) => feature.visible(context));
      return paged(member, seen.map(describe), cursor);
    };
  const paged = (member: string, all: readonly unknown[], cursor: unknown): object => {
    const { items, ...rest } = pageOf(all, cursor, pageSize);
    return { [member]: items, ...rest };
  };
  const listResources: Operation = async ({ cursor }, context, caller) => {
    const own = [...catalog.resources.values()].filter((each) => each.visible(context));
    const listed = await Promise.all(
      [...catalog.templates.values()]
        .filter((each) => each.visible(context))
        .map(({ definition }) => {
          if (!("list" in definition) || definition.list === undefined) return [];
          return definition.list(new FeatureCall(context, "resources/list", caller, undefined));
        }),
    );
    return paged("resources", [...own.map(describeResource), ...listed.flat()], cursor);
  };
  return [
    ["tools/list", list("tools", catalog.tools, (tool) => tool.description)],
    ["prompts/list", list("prompts", catalog.prompts, (prompt) => prompt.description)],
    ["resources/list", listResources],
    ["resources/templates/list", list("resourceTemplates", catalog.templates, describeTemplate)],
  ];
}

function describeResource({ definition, name }: Resource): ResourceDescription {
  const { uri, read, ...rest } = definition as Extract<typeof definition, { uri: string }>;
  return { uri, ...rest, name };
}

function describeTemplate({ definition, name }: Resource): object {
  const { read, list, complete, ...rest } = definition as Exclude<
    typeof definition,
    { uri: string }
  >;
  return { ...rest, name };
}

/** One page of an array; the cursor is opaque to clients. */
export function pageOf<T>(
  list: readonly T[],
  cursor: unknown,
  size: number,
): { readonly items: readonly T[]; readonly nextCursor?: string } {
  const from = cursor === undefined || cursor === "" ? 0 : placeOf(cursor, list.length);
  const to = from + size;
  if (from === 0 && to >= list.length) return { items: list };
  const items = list.slice(from, to);
  return to < list.length ? { items, nextCursor: btoa(`at:${to}`) } : { items };
}

function placeOf(cursor: unknown, length: number): number {
  const [, digits] = /^at:(\d{1,9})$/.exec(decoded(cursor)) ?? [];
  const place = digits === undefined ? Number.NaN : Number(digits);
  if (place <= length) return place;
  throw invalidArguments('"cursor" is not one that this server issued');
}

function decoded(cursor: unknown): string {
  try {
    return typeof cursor === "string" ? atob(cursor) : "";
  } catch {
    return "";
  }
}
