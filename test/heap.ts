import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Frees what is no longer referenced. */
export const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

/** How many bytes are still in use. */
export function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
