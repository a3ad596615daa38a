import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Frees what nobody needs any more. */
export const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

/** How much is in use by what somebody still needs. */
export function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
