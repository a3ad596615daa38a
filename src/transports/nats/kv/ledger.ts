import type { Clock } from "../../../protocol/clock.ts";
import type { KV } from "./client-library.ts";
import type { Outage } from "./outage.ts";

/** Where keys stand, how long one is held for a call that runs, and by which clock. */
export interface Ledger {
  readonly bucket: KV;
  readonly outage: Outage;
  readonly leaseMs: number;
  readonly clock: Clock;
}
