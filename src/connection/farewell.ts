import { isExactly, shuttingDown, WireError } from "../protocol/errors.ts";
import type { Envelope } from "../protocol/parse.ts";
import { errorText } from "../protocol/serialize.ts";

/**
 * The last word of an end that has answered all that it took: whatever has no answer now did not run. Without it
 * nobody could tell a call that came too late from one that was lost while it ran.
 */
export const farewell: string = /* @__PURE__ */ errorText("2.0", "null", shuttingDown);

export function isFarewell(message: Envelope): boolean {
  const { id, error } = message as Envelope & { readonly error?: unknown };
  return (id === null || id === undefined) && isExactly(error, shuttingDown);
}

/** The other end went away before it took the call, so that it may be sent again, whatever it does. */
export class NotTaken extends WireError {
  constructor() {
    super("CONNECTION_FAILED", "the other end is shutting down; the call did not run");
  }
}
