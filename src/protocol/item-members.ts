import { inlined } from "./attachments.ts";
import type { ItemMembers } from "./link.ts";
import { TypedJson, type ValueCodec } from "./value-codec.ts";

/**
 * The members `value` and `types` of an item. Files and streams in it are read into the message, because the bytes beside
 * a message belong to a call or to its reply. Rejects with a RangeError if they are longer than `maxBytes`.
 */
export function itemMembers(
  values: ValueCodec,
  item: unknown,
  maxBytes: number,
  signal?: AbortSignal,
): ItemMembers | Promise<ItemMembers> {
  const typed = item instanceof TypedJson ? item : values.encode(item);
  if (typed === undefined) return { value: item };
  const { value, types, attachments } = typed;
  if (attachments === undefined) return { value, types };
  const whole = inlined(value, types, attachments, maxBytes, signal);
  return whole.then((read) => ({ value: read, types }));
}
