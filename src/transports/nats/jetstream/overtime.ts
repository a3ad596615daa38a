import { settledOrTimeout } from "../../../protocol/clock.ts";
import type { Usage } from "../../../protocol/origin.ts";
import type { JsMsg } from "./client-library.ts";
import type { Workplace } from "./workplace.ts";

/** So long a method that goes on after its time was up is waited for. */
const longestMs = 10 * 60_000;

/** Knows whether the method of a notification still runs, which it may do after its call was answered. */
export class Overtime implements Usage {
  inFlight = 0;
  openStreams = 0;
  #end: (() => void) | undefined;

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    if (this.inFlight === 0) this.#end?.();
  }

  /** Resolves when the method has ended, or is waited for no longer. */
  async over({ subject, seq }: JsMsg, { service, closed }: Workplace): Promise<void> {
    if (this.inFlight === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    await settledOrTimeout(service.running.clock, longestMs, Promise.race([ended, closed]));
    if (this.inFlight === 0) return;
    const sentence =
      "a method goes on after its time, and its notification is not kept for it any more";
    service.log.warn({ subject, seq }, sentence);
  }
}
