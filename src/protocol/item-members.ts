import { inlined } from "./attachments.ts";
import type { ItemMembers } from "./link.ts";
import { TypedJson, type ValueCodec } from "./value-codec.ts";

/**
 * The members `value` and `types` of a notification about a call. Files and streams in it are read into the message, because
 * the bytes beside a message belong to a call or to its reply. Rejects with a RangeError if they are longer than
 * `maxBytes`; without it they are refused.
 */
export function itemMembers(values: ValueCodec, item: unknown): ItemMembers;
export function itemMembers(
  values: ValueCodec,
  item: unknown,
  maxBytes: number,
  signal?: AbortSignal,
): ItemMembers | Promise<ItemMembers>;
export function itemMembers(
  values: ValueCodec,
  item: unknown,
  maxBytes?: number,
  signal?: AbortSignal,
): ItemMembers | Promise<ItemMembers> {
  const typed = item instanceof TypedJson ? item : values.encode(item);
  if (typed === undefined) return { value: item };
  const { value, types, attachments } = typed;
  if (attachments === undefined) return { value, types };
  if (maxBytes === undefined) throw new TypeError("a Blob or a stream cannot be sent here");
  return inlined(value, types, attachments, maxBytes, signal).then((whole) => ({
    value: whole,
    types,
  }));
}
