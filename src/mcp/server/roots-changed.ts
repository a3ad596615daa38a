import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import { unreachablePeer } from "../../protocol/origin.ts";
import { FeatureCall } from "./feature-call.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Session } from "./session.ts";

/** Called when the roots of a client changed; `call.roots()` requests the new ones. */
export type RootsListener = (call: McpCall) => unknown;

export type RootsChanged = (context: CallContext, session: Session) => Promise<void>;

/** Passes `notifications/roots/list_changed` to a listener, with a time limit. */
export function rootsChanged(listener: RootsListener, clock: Clock, limitMs: number): RootsChanged {
  /** The sessions whose listener runs, and whether their roots changed again since it started. */
  const running = new Map<Session, { again: boolean }>();
  const runOnce: RootsChanged = async (context, session) => {
    const controller = new AbortController();
    const timer = clock.after(limitMs, () => controller.abort());
    // The notification is done, so requests to the client need the peer of the session.
    const detached = { signal: controller.signal, peer: session.peer ?? unreachablePeer };
    const { method, log } = context;
    try {
      await listener(new FeatureCall(context, method, session, undefined, detached));
    } catch (error) {
      log.error({ err: error, method }, "onRootsChanged threw");
    } finally {
      timer.cancel();
    }
  };
  // One listener per session at a time, and once more if the roots changed meanwhile.
  return async (context, session) => {
    const current = running.get(session);
    if (current !== undefined) {
      current.again = true;
      return;
    }
    const run = { again: true };
    running.set(session, run);
    while (run.again) {
      run.again = false;
      await runOnce(context, session);
    }
    running.delete(session);
  };
}
