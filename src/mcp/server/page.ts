import { invalidArguments } from "../errors.ts";

/** One page of a list; the cursor is opaque to clients. */
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
  throw invalidArguments("this cursor was not given out here");
}

function decoded(cursor: unknown): string {
  try {
    return typeof cursor === "string" ? atob(cursor) : "";
  } catch {
    return "";
  }
}
