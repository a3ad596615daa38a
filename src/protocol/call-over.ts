import { RemoteError, WireError } from "./errors.ts";
import { nextId } from "./ids.ts";
import type { Link, Outgoing } from "./link.ts";
import type { Params } from "./message.ts";

/** One call over a link, for ends that call back without a client of their own. */
export async function callOver(
  link: Pick<Link, "send">,
  method: string,
  params?: Params,
  options: { signal?: AbortSignal } = {},
): Promise<unknown> {
  const outgoing = plainOutgoing();
  const { signal } = options;
  const abort = (): void =>
    outgoing.cancel?.(
      new WireError("ABORTED", `${method} was cancelled`, { cause: signal?.reason }),
    );
  signal?.addEventListener("abort", abort, { once: true });
  try {
    if (signal?.aborted) {
      throw new WireError("ABORTED", `${method} was cancelled`, { cause: signal.reason });
    }
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
