import type { Answer, Answerer } from "./answer.ts";
import type { EventForm } from "./event-form.ts";
import type { Admit } from "./handle.ts";
import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import type { ErrorObject } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { SealMaker } from "./seal.ts";
import type { ServerRunning } from "./server-running.ts";
import type { Watches } from "./watch.ts";

/** What a transport needs of a server. */
export interface Service {
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  readonly running: ServerRunning;
  /** Observers of what middleware cannot see; undefined if there are none. */
  readonly watch?: Watches | undefined;
  /** Answers one payload: returns the reply as JSON, or undefined if none is due. */
  receive(text: string, origin?: Origin): Answer;
  /** Called once per connection before it is open, on wires with a connection; never throws. */
  readonly admit?: Admit | undefined;
  /** Whether some methods are hidden from some callers. */
  readonly hides?: boolean;
  /** Answers as if there were no methods, so that a caller cannot find out which exist. */
  answerUnknown?(text: string, origin: Origin): Answer;
  /** Whether a method streams; only such may be started by a GET. */
  isStream?(method: string): boolean;
  /**
   * How HTTP writes the items of streams, if not as notifications before the response. The headers are then sent with
   * the first item, so that an earlier failure is an ordinary reply.
   */
  readonly eventForm?: EventForm | undefined;
  /** The error for an HTTP request that is not JSON, if the protocol of the service has its own. */
  readonly unsupportedType?: ErrorObject | undefined;
  /** Whether its path may end with a slash too: HTTP clients with a base URL, such as Python's httpx, add one. */
  readonly trailingSlash?: boolean | undefined;
  /** Method names, for wires on which each has an address; missing if they are not known in advance. */
  methodNames?(): readonly string[];
  /**
   * Registers a callback for the start of a shutdown, while the server still answers, so that a wire can redirect
   * callers.
   */
  beforeDrain?(leave: () => unknown): void;
  /** Seals the messages on wires with a connection. */
  readonly seal?: SealMaker | undefined;
  /** Whether a method exists, if that is known without calling it. */
  hasMethod?(method: string): boolean;
  /** Registers a callback for the end of a shutdown, after the calls have finished. */
  onClose(close: () => unknown): void;
}
