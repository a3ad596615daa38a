import { type Clock, checkTimeout, longestDelayMs, systemClock } from "../protocol/clock.ts";
import { defaultTimeoutMs } from "../protocol/defaults.ts";
import { RemoteError, WireError } from "../protocol/errors.ts";
import { ItemQueue } from "../protocol/item-queue.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import { nextId, type Params } from "../protocol/message.ts";
import type { CallBackOptions } from "../protocol/origin.ts";

/** Calls a method of the peer, and expects a result only. */
export async function callPeer(
  link: Pick<Link, "send">,
  method: string,
  params?: Params,
  options: CallBackOptions = {},
  clock: Clock = systemClock,
): Promise<unknown> {
  const { signal } = options;
  const { timeoutMs = signal === undefined ? defaultTimeoutMs : Number.POSITIVE_INFINITY } =
    options;
  checkTimeout(timeoutMs);
  const outgoing = new ResultOnly(method);
  const aborted = (): WireError =>
    new WireError("ABORTED", `${method} was cancelled`, { cause: signal?.reason });
  const abort = (): void => outgoing.cancel?.(aborted());
  const expire = (): void =>
    outgoing.cancel?.(
      new WireError("TIMEOUT", `${method} did not answer within ${timeoutMs / 1000} s`),
    );
  signal?.addEventListener("abort", abort, { once: true });
  const timer = timeoutMs > longestDelayMs ? undefined : clock.after(timeoutMs, expire);
  try {
    if (signal?.aborted) throw aborted();
    const reply = await link.send({ jsonrpc: "2.0", method, params, id: nextId() }, outgoing);
    if (reply?.error !== undefined) throw RemoteError.from(reply.error, method);
    if (reply?.result == null && outgoing.streamed) throw outgoing.mistaken();
    return reply?.result;
  } finally {
    timer?.cancel();
    signal?.removeEventListener("abort", abort);
  }
}

/** For a call or a notification whose items and progress are not read. */
export class ResultOnly implements Outgoing {
  cancel: ((error: WireError) => void) | undefined = undefined;
  readonly headers = undefined;
  readonly idempotent = false;
  readonly #method: string;
  #items: ItemQueue | undefined;

  constructor(method: string) {
    this.#method = method;
  }

  get streamed(): boolean {
    return this.#items !== undefined;
  }

  /** Items are not read, so the producer stops when the queue is full, and no result can come. */
  item(_: unknown, give: (count: number) => void): undefined {
    this.#items ??= new ItemQueue();
    if (this.#items.push(undefined, give) !== undefined) this.cancel?.(this.mistaken());
  }

  progress(): void {}

  gap(): void {}

  mistaken(): WireError {
    const sentence = `${this.#method} streams; read it with createClient(peer).stream`;
    return new WireError("BAD_REPLY", sentence);
  }
}
