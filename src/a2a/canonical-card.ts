import type { AgentCard } from "./card.ts";

/** The members that signatures cover; those for clients of 0.3 are not among them. */
const members: ReadonlySet<string> = new Set([
  "name",
  "description",
  "version",
  "supportedInterfaces",
  "capabilities",
  "defaultInputModes",
  "defaultOutputModes",
  "skills",
  "provider",
  "documentationUrl",
  "iconUrl",
  "securitySchemes",
  "securityRequirements",
]);

/** A card as its signatures cover it: without members that are empty, in the order of RFC 8785. */
export function canonicalCard(card: AgentCard): string {
  const covered = Object.entries(card).filter(([name]) => members.has(name));
  const { securitySchemes, ...rest } = Object.fromEntries(covered) as Record<string, unknown>;
  const schemes = Object.entries((securitySchemes ?? {}) as Record<string, object>).map(
    ([name, scheme]) => [
      name,
      Object.fromEntries(
        Object.entries(scheme).filter(([kind]) => kind.endsWith("SecurityScheme")),
      ),
    ],
  );
  return written(filled({ ...rest, securitySchemes: Object.fromEntries(schemes) }) ?? {});
}

/** Undefined if there is nothing in it. */
function filled(value: unknown): unknown {
  if (value === null || value === "") return undefined;
  if (Array.isArray(value)) {
    const entries = value.map(filled).filter((entry) => entry !== undefined);
    return entries.length === 0 ? undefined : entries;
  }
  if (typeof value !== "object") return value;
  const entries = Object.entries(value)
    .map(([name, member]) => [name, filled(member)] as const)
    .filter(([name, member]) => member !== undefined && !(name === "required" && member === false));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function written(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  const names = Object.keys(value).sort();
  const member = (name: string): string =>
    `${JSON.stringify(name)}:${written((value as Record<string, unknown>)[name])}`;
  return `{${names.map(member).join(",")}}`;
}
