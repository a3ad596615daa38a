import type { CallContext, Context } from "../protocol/context.ts";

/** Whether a call is answered here, and not made. By its shape: a program may hold two copies of this package. */
export function isAnswered(context: Context): context is CallContext {
  return "origin" in context;
}
