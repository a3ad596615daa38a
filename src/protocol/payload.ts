import { canonicalBatch, canonicalMessage } from "./canonical.ts";
import { markDuplicates } from "./duplicate-members.ts";
import { parseText, unparsable } from "./json-text.ts";

/** Parses a message or an array of messages. Payloads in the usual form take the fast path. */
export function parsePayload(text: string, maxBatch: number): unknown {
  const usual =
    text.charCodeAt(0) === 0x5b ? canonicalBatch(text, maxBatch) : canonicalMessage(text);
  if (usual !== undefined) return usual;
  const payload = parseText(text);
  return payload === unparsable ? payload : markDuplicates(payload, text, maxBatch);
}
