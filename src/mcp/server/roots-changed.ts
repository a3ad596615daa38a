import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import { unreachablePeer } from "../../protocol/origin.ts";
import { FeatureCall } from "./feature-call.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Session } from "./session.ts";

/** Hears that the folders of a client are others now; `call.roots()` asks which. */
export type RootsListener = (call: McpCall) => unknown;

/** Brings `notifications/roots/list_changed` to a listener, which may take its time but not for ever. */
export class RootsChanged {
  readonly #listener: RootsListener;
  readonly #clock: Clock;
  readonly #limitMs: number;
  /** The sessions whose listener runs, and whether their roots have changed again since it began. */
  readonly #running = new Map<Session, { again: boolean }>();

  constructor(listener: RootsListener, clock: Clock, limitMs: number) {
    this.#listener = listener;
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** However often a client says so, one listener runs for it at a time, and once more after the last. */
  async tell(context: CallContext, session: Session): Promise<void> {
    const running = this.#running.get(session);
    if (running !== undefined) {
      running.again = true;
      return;
    }
    const run = { again: true };
    this.#running.set(session, run);
    while (run.again) {
      run.again = false;
      await this.#run(context, session);
    }
    this.#running.delete(session);
  }

  async #run(context: CallContext, session: Session): Promise<void> {
    const controller = new AbortController();
    const timer = this.#clock.after(this.#limitMs, () => controller.abort());
    // The notification was answered already, so what is asked goes another way.
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
