import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Transport } from "../protocol/origin.ts";
import type { SealMaker } from "../protocol/seal.ts";
import type { Service } from "../protocol/service.ts";
import type { Tap } from "../protocol/tap.ts";
import type { Verdict } from "./admission.ts";
import type { Notices } from "./notices.ts";

export interface ConnectionOptions {
  /** Answers what the other end calls; without it every call is an unknown method. */
  readonly service?: Service | undefined;
  /** What handlers see as `call.transport`: the kind of wire, its headers, the address of the peer. */
  readonly transport: Transport;
  /** Limits on what the other end sends; the service's where there is one. */
  readonly limits?: Limits | undefined;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log | undefined;
  /** After so many messages that could not be read, of which one is forgotten each minute, it is cut off. @default 10 */
  readonly maxStrikes?: number | undefined;
  /** What the service said of the other end, where the wire has asked before; else it is asked now. */
  readonly verdict?: { readonly value: Verdict } | undefined;
  /** Changes the texts on their way; that of the service where there is one. */
  readonly seal?: SealMaker | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Names for cancelling and for progress, in place of `$/cancelRequest` and `$/progress`. */
  readonly notices?: Notices | undefined;
}

export interface FinishOptions {
  /** How long the running calls may take. @default 10000 */
  readonly drainMs?: number | undefined;
  /** Whether the other end sends nothing more, so that calls of ours cannot be answered. @default false */
  readonly deaf?: boolean | undefined;
}
