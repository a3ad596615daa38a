import type { ClientCapabilities, Implementation } from "../capabilities.ts";
import { isRecord } from "../record.ts";

/** Longest parts of a greeting that are kept whole, in characters; thousands of sessions may be idle. */
const longestKept = 2_048;
const longestName = 128;

/** What a client declared, or of a long declaration only what this server asks clients for. */
export function keptCapabilities(declared: unknown): ClientCapabilities {
  if (!isRecord(declared)) return {};
  if (isShort(declared)) return declared;
  const { roots, sampling, elicitation, tasks } = declared;
  return {
    ...(isRecord(roots) && { roots: flags(roots, ["listChanged"]) }),
    ...(isRecord(sampling) && { sampling: flags(sampling, ["context", "tools"]) }),
    ...(isRecord(elicitation) && { elicitation: flags(elicitation, ["form", "url"]) }),
    ...(isRecord(tasks) && isShort(tasks) && { tasks }),
  };
}

/** How a client names itself, or of a long description only the names. */
export function keptInfo(info: unknown): Implementation | undefined {
  if (!isRecord(info)) return undefined;
  if (isShort(info)) return info as unknown as Implementation;
  const { name, version, title } = info;
  return {
    name: cut(name) ?? "",
    version: cut(version) ?? "",
    ...(typeof title === "string" && { title: cut(title) ?? "" }),
  };
}

function isShort(value: object): boolean {
  return JSON.stringify(value).length <= longestKept;
}

/** The members that only say whether something is there. */
function flags(
  declared: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, never>> {
  const found = names.filter((name) => declared[name] !== undefined);
  return Object.fromEntries(
    found.map((name) => {
      const value = declared[name];
      return [name, typeof value === "boolean" ? value : {}];
    }),
  ) as Readonly<Record<string, never>>;
}

function cut(text: unknown): string | undefined {
  return typeof text === "string" ? text.slice(0, longestName) : undefined;
}
