import type { Context } from "../protocol/context.ts";

const begun = new WeakMap<Context, string>();

/** Tracing says which trace a call belongs to, so that its line in the log can name it. */
export function rememberTrace(context: Context, traceId: string): void {
  begun.set(context, traceId);
}

export function rememberedTrace(context: Context | undefined): string | undefined {
  return context === undefined ? undefined : begun.get(context);
}
