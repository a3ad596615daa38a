import { RemoteError, WireError } from "../protocol/errors.ts";
import { nextId } from "../protocol/ids.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Params } from "../protocol/message.ts";

/** Calls a method of the other end, with nothing but its result to come back. */
export async function callOver(
  link: Pick<Link, "send">,
  method: string,
  params?: Params,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<unknown> {
  const outgoing = plainOutgoing();
  const aborted = (): WireError =>
    new WireError("ABORTED", `${method} was cancelled`, { cause: signal?.reason });
  const abort = (): void => outgoing.cancel?.(aborted());
  signal?.addEventListener("abort", abort, { once: true });
  try {
    if (signal?.aborted) throw aborted();
    const reply = await link.send({ jsonrpc: "2.0", method, params, id: nextId() }, outgoing);
    if (reply?.error !== undefined) throw RemoteError.from(reply.error);
    return reply?.result;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function plainOutgoing(): Outgoing {
  return {
    cancel: undefined,
    item: () => undefined,
    progress: () => {},
    gap: () => {},
    headers: undefined,
    idempotent: false,
  };
}
