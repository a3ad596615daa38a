import { type DocumentOptions, openrpcDocument } from "../openrpc/document.ts";
import type { OpenrpcDocument } from "../openrpc/specification.ts";
import type { Context } from "../protocol/context.ts";
import { Method } from "./method.ts";
import type { MethodTable } from "./router.ts";

export interface DiscoverOptions extends Omit<DocumentOptions, "separator"> {
  /** Whether this caller may know of a method. @default every caller knows all */
  readonly visible?: Visibility;
}

/** Whether a caller may know of a method. */
export type Visibility = (method: string, context: Context) => boolean;

/** Callers differ in few ways; more documents than this are made anew. */
const mostKept = 64;

/** `rpc.discover`: describes what its caller may call. */
export function discovery(
  methods: MethodTable,
  options: DiscoverOptions,
  rules: readonly Visibility[],
): Method {
  const { visible: _, ...rest } = options;
  const kept = new Map<string, OpenrpcDocument>();
  const handler = (_: unknown, call: Context): OpenrpcDocument => {
    const names = [...methods.keys()];
    const seen =
      rules.length === 0
        ? names
        : names.filter((name) => rules.every((rule) => rule(name, call) === true));
    const key = rules.length === 0 ? "" : JSON.stringify(seen);
    let document = kept.get(key);
    if (document === undefined) {
      // Made of the visible methods alone, so that no name of a shared type tells of a hidden one.
      document = openrpcDocument(
        new Map(seen.map((name) => [name, methods.get(name) as Method])),
        rest,
      );
      if (kept.size < mostKept) kept.set(key, document);
    }
    return document;
  };
  return new Method("method", { idempotent: true }, handler);
}
