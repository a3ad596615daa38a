/** Arrays and objects of JSON, by their keys. */
export type Container = Record<string, unknown>;

/** Writes a step of a path as in a JSON Pointer (RFC 6901). */
export function escaped(step: string): string {
  return /[~/]/.test(step) ? step.replaceAll("~", "~0").replaceAll("/", "~1") : step;
}

/** Reads a step of a path; throws if it is not written as in a JSON Pointer. */
export function unescaped(step: string): string {
  if (!step.includes("~")) return step;
  if (/~(?![01])/.test(step)) throw new TypeError("wrong form");
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** The member that a path from the wire names; throws unless it is an own member. */
export function ownMember(at: Container, key: string): unknown {
  const isIndex = key !== "length" || !Array.isArray(at);
  if (isIndex && key !== "__proto__" && Object.hasOwn(at, key)) return at[key];
  throw new TypeError("wrong form");
}

/** The member that a whole path from the wire names; throws if there is none. */
export function memberAt(json: unknown, path: unknown): unknown {
  if (typeof path !== "string") throw new TypeError("a path must be a string");
  let at = json;
  for (const step of path.split("/").slice(1)) {
    if (typeof at !== "object" || at === null) throw new TypeError("wrong form");
    at = ownMember(at as Container, unescaped(step));
  }
  return at;
}
