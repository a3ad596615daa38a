import { canonicalBatch, canonicalMessage } from "./canonical.ts";
import { markDuplicates } from "./duplicate-members.ts";

/** The placeholder for a payload that is not JSON. */
export const unparsable: unique symbol = Symbol("unparsable");

/** Parses a message or an array of messages. Payloads in the usual form take the fast path. */
export function parsePayload(text: string, maxBatch: number): unknown {
  const usual =
    text.charCodeAt(0) === 0x5b ? canonicalBatch(text, maxBatch) : canonicalMessage(text);
  if (usual !== undefined) return usual;
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return unparsable;
  }
  return markDuplicates(payload, text, maxBatch);
}
