import { type DocumentOptions, openrpcDocument } from "../openrpc/document.ts";
import { DocumentCache } from "../openrpc/document-cache.ts";
import type { OpenrpcDocument } from "../openrpc/specification.ts";
import type { Context } from "../protocol/context.ts";
import { Method } from "./method.ts";
import type { MethodTable } from "./router.ts";

export interface DiscoverOptions extends Omit<DocumentOptions, "separator"> {
  /** Whether a caller may see a method. @default every caller sees all */
  readonly visible?: Visibility;
}

/** Whether a caller may see a method. */
export type Visibility = (method: string, context: Context) => boolean;

/** `rpc.discover`: describes the methods that its caller may call. */
export function discovery(
  methods: MethodTable,
  options: DiscoverOptions,
  rules: readonly Visibility[],
): Method {
  const { visible: _, ...rest } = options;
  const kept = new DocumentCache();
  const handler = (_: unknown, call: Context): OpenrpcDocument => {
    const names = [...methods.keys()];
    const seen =
      rules.length === 0
        ? names
        : names.filter((name) => rules.every((rule) => rule(name, call) === true));
    // Made of the visible methods only, so that no name of a shared type reveals a hidden one.
    return kept.of(seen, () =>
      openrpcDocument(new Map(seen.map((name) => [name, methods.get(name) as Method])), rest),
    );
  };
  return new Method("method", { idempotent: true }, handler);
}
