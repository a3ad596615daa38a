import { isRecord } from "../protocol/record.ts";

export type Members = Record<string, unknown>;

/** The member at a path such as `textDocument.hover`; undefined if there is none. */
export function memberAt(from: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined),
      from,
    );
}
