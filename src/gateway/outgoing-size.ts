import type { Request } from "../protocol/message.ts";
import { requestText } from "../protocol/serialize.ts";

/** So much a gateway may add to a call: its own id, what is left of the time, the trace, a longer name. */
export const room = 1_024;

/** No character of a text becomes longer than this, as in \u0000. */
const longestCharacter = 6;
/** No number is longer. */
const longestNumber = 25;
/** What stands around the params, but for the names of the method and the trace. */
const envelope = 500;

/**
 * Whether a request is longer than this where it goes. It can be, although it came in a shorter message: of 1e20 become 21
 * digits. Only where that is possible is it written for it.
 */
export function isLongerThan(maxBytes: number, request: Request): boolean {
  const { method, params, tracestate = "" } = request;
  const names = longestCharacter * (method.length + tracestate.length);
  const mayBe = left(maxBytes - envelope - names, params) < 0;
  return mayBe && new TextEncoder().encode(requestText(request)).length > maxBytes;
}

/** What is surely left of this many bytes behind a value; it stops counting where nothing is. */
function left(bytes: number, value: unknown): number {
  if (typeof value === "string") return bytes - longestCharacter * value.length - 3;
  if (typeof value !== "object" || value === null) return bytes - longestNumber;
  let rest = bytes - 3;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && rest >= 0; i++) rest = left(rest, value[i]);
    return rest;
  }
  for (const name in value) {
    if (rest < 0) break;
    const member = (value as Record<string, unknown>)[name];
    rest = left(rest - longestCharacter * name.length - 4, member);
  }
  return rest;
}
