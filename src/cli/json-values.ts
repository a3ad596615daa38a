import { Failure, oneLine } from "./failure.ts";

/** Parses JSON of the user; `where` names its source. */
export function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Failure(`${where}: invalid JSON: ${oneLine(error)}`, { cause: error });
  }
}

/** Parses JSON; undefined if it is invalid. */
export function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function hasMember(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}

export function memberOf(value: unknown, name: string): unknown {
  return hasMember(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
