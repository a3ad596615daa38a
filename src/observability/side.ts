import type { Context } from "../protocol/context.ts";

/**
 * What a middleware sees of a call: that it is made here; that it is answered, and told of by whoever answers;
 * or that it is answered and nobody else tells, as where a tool of MCP runs a method.
 */
export type Side = "made" | "told" | "answered";

/** By its shape: a program may hold two copies of this package. */
export function sideOf(context: Context): Side {
  if (context.transport.kind === "outbound") return "made";
  return context.incoming?.watch === undefined ? "answered" : "told";
}
