import type { Context } from "../../protocol/context.ts";
import type { Handle } from "../../protocol/handle.ts";
import { type Reply, success } from "../../protocol/message.ts";
import type { Peer } from "../../protocol/origin.ts";

/** More than this no agent reads, and a stream without an end must have one here. */
const mostItems = 10_000;

/** What was taken of a stream. */
export interface TakenItems {
  readonly items: readonly unknown[];
  /** There were more. */
  readonly isCut: boolean;
}

/** A stream as one result: an agent waits for all items, and hears of each as progress. */
export function itemsOf(dispatch: Handle): Handle {
  return async (request, context) => {
    const taken = { items: [], isCut: false };
    const reply = await dispatch(request, collecting(context, taken));
    return reply === undefined || reply.error !== undefined ? (reply as Reply) : success(taken);
  };
}

/** The same call, with a peer that keeps the items of the stream. */
function collecting(context: Context, taken: { items: unknown[]; isCut: boolean }): Context {
  const { peer } = context;
  const { items } = taken;
  const enough = new AbortController();
  context.signal.addEventListener("abort", () => enough.abort(context.signal.reason));
  const collector: Peer = {
    canNotify: true,
    closed: peer.closed,
    ready: () => undefined,
    call: (...args) => peer.call(...args),
    send: (...args) => peer.send(...args),
    sendBatch: (...args) => peer.sendBatch(...args),
    close: () => peer.close(),
    notify(method, params) {
      if (method !== "$/stream") return peer.notify(method, params);
      // One more than can be kept tells a stream that is cut from one that is over.
      if (items.length === mostItems) {
        taken.isCut = true;
        enough.abort();
        return true;
      }
      items.push((params as { value: unknown }).value);
      context.progress({});
      return true;
    },
  };
  // Everything else is what the call has; a copy would lose its getters.
  return new Proxy(context, {
    set: (target, name, value) => Reflect.set(target, name, value, target),
    get: (target, name) => {
      if (name === "peer") return collector;
      if (name === "signal") return enough.signal;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
