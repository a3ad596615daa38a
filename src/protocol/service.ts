import type { Answer, Answerer } from "./answer.ts";
import type { Admit } from "./handle.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import type { Origin } from "./origin.ts";
import type { SealMaker } from "./seal.ts";
import type { ServerRunning } from "./server-running.ts";
import type { Watches } from "./watch.ts";

/** What a transport needs to know of a server. */
export interface Service {
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  readonly running: ServerRunning;
  /** Who hears what middleware cannot see; undefined where nobody does. */
  readonly watch?: Watches | undefined;
  /** Answers one payload: the text of the reply, or undefined where none is due. */
  receive(text: string, origin?: Origin): Answer;
  /** Asked once by wires with a connection, before it is open; never throws. */
  readonly admit?: Admit | undefined;
  /** Whether some callers may not know of some methods. */
  readonly hides?: boolean;
  /** Answers as if it had no methods, so that a caller cannot tell which of them there are. */
  answerUnknown?(text: string, origin: Origin): Answer;
  /** Whether a method of this name streams; only such may be started by a GET. */
  isStream?(method: string): boolean;
  /** The names of its methods, for wires on which each has an address; absent where nobody knows them beforehand. */
  methodNames?(): readonly string[];
  /** Runs when the server begins to close and still answers, so that a wire can send callers elsewhere. */
  beforeDrain?(leave: () => unknown): void;
  /** Seals the messages of wires with a connection. */
  readonly seal?: SealMaker | undefined;
  /** Whether there is a method of this name, where that can be told without calling it. */
  hasMethod?(method: string): boolean;
  /** Runs when the server closes, after its calls have finished. */
  onClose(close: () => unknown): void;
}
