import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import { unreachablePeer } from "../../protocol/origin.ts";
import { FeatureCall } from "./feature-call.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Session } from "./session.ts";

/** Called when the roots of a client changed; `call.roots()` requests the new ones. */
export type RootsListener = (call: McpCall) => unknown;

/** Passes `notifications/roots/list_changed` to a listener, with a time limit. */
export class RootsChanged {
  readonly #listener: RootsListener;
  readonly #clock: Clock;
  readonly #limitMs: number;
  /** The sessions whose listener runs, and whether their roots changed again since it started. */
  readonly #running = new Map<Session, { again: boolean }>();

  constructor(listener: RootsListener, clock: Clock, limitMs: number) {
    this.#listener = listener;
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Runs one listener per session at a time, and once more if the roots changed meanwhile. */
  async run(context: CallContext, session: Session): Promise<void> {
    const running = this.#running.get(session);
    if (running !== undefined) {
      running.again = true;
      return;
    }
    const run = { again: true };
    this.#running.set(session, run);
    while (run.again) {
      run.again = false;
      await this.#once(context, session);
    }
    this.#running.delete(session);
  }

  async #once(context: CallContext, session: Session): Promise<void> {
    const controller = new AbortController();
    const timer = this.#clock.after(this.#limitMs, () => controller.abort());
    // The notification is done, so requests to the client need the peer of the session.
    const detached = { signal: controller.signal, peer: session.peer ?? unreachablePeer };
    const { method, log } = context;
    try {
      await this.#listener(new FeatureCall(context, method, session, undefined, detached));
    } catch (error) {
      log.error({ err: error, method }, "a listener threw");
    } finally {
      timer.cancel();
    }
  }
}
