import type { Request } from "../protocol/message.ts";
import { requestText } from "../protocol/serialize.ts";

/** Bytes that a gateway may add to a call: its own id, the remaining time, the trace, a longer name. */
export const room = 1_024;

/** Longest JSON form of a character, such as \u0000. */
const longestCharacter = 6;
/** Longest JSON form of a number. */
const longestNumber = 25;
/** Everything but the params, their types, the method name, the trace state and the baggage. */
const envelope = 500;

/**
 * Whether the forwarded request exceeds `maxBytes`. It may be longer than the message it came in: 1e20 becomes 21 digits.
 * The request is serialized only if the estimate does not rule that out.
 */
export function isLongerThan(maxBytes: number, request: Request): boolean {
  const { method, params, types, tracestate = "", baggage = "" } = request;
  const names = longestCharacter * (method.length + tracestate.length + baggage.length);
  const mayBe = left(left(maxBytes - envelope - names, params), types) < 0;
  return mayBe && new TextEncoder().encode(requestText(request)).length > maxBytes;
}

/** A lower bound of the bytes left after a value; stops counting below zero. */
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
