import type { Answer, Answerer } from "./answer.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import type { Origin } from "./origin.ts";
import type { Running } from "./running.ts";
import type { Watches } from "./watch.ts";

/** What a transport needs to know of a server. */
export interface Service {
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  readonly running: Running;
  /** Who hears what middleware cannot see; undefined where nobody does. */
  readonly watch?: Watches | undefined;
  /** Answers one payload: the text of the reply, or undefined where none is due. */
  receive(text: string, origin?: Origin): Answer;
  /** Whether a method of this name streams; only such may be started by a GET. */
  isStream?(method: string): boolean;
  /** Whether there is a method of this name, where that can be told without calling it. */
  hasMethod?(method: string): boolean;
  /** Runs when the server closes, after its calls have finished. */
  onClose(close: () => unknown): void;
}
