export type Members = Record<string, unknown>;

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member at a path such as `textDocument.hover`; undefined if there is none. */
export function memberAt(from: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (at, name) => (isMembers(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      from,
    );
}
