import { method, type Peer } from "callwire";
import * as z from "zod";
import { CANNOT_PUSH, canPush } from "./push.ts";

const timers = new WeakMap<Peer, NodeJS.Timeout>();

export const ticks = {
  start: method(
    {
      summary: "Push an onTick notification to the caller again and again",
      description: "Needs a wire that can push: WebSocket, TCP, a unix socket or stdio.",
      params: z.object({ intervalMs: z.int().min(10).max(60_000).default(1000) }),
      result: z.string(),
      errors: { CANNOT_PUSH },
      examples: [{ params: { intervalMs: 500 }, result: "ticking every 500 ms" }],
    },
    ({ intervalMs }, call, errors) => {
      if (!canPush(call)) throw errors.CANNOT_PUSH();
      const { peer } = call;
      stop(peer);
      let count = 0;
      const timer = setInterval(() => {
        peer.notify("onTick", { count: ++count, time: new Date().toISOString() });
      }, intervalMs);
      timers.set(peer, timer);
      void peer.closed.then(() => stop(peer));
      return `ticking every ${intervalMs} ms`;
    },
  ),

  stop: method(
    {
      summary: "Stop pushing onTick",
      params: z.object({}),
      result: z.string(),
      examples: [{ result: "stopped" }],
    },
    (_, { peer }) => (stop(peer) ? "stopped" : "was not ticking"),
  ),
};

function stop(peer: Peer): boolean {
  clearInterval(timers.get(peer));
  return timers.delete(peer);
}
