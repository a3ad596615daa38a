import { method } from "callwire";
import { z } from "zod";

/** Returns callers their own identity, and counts what ran. */
export function whoami() {
  const ran: string[] = [];
  const methods = {
    whoami: method({}, (_params, { principal }) => {
      ran.push("whoami");
      return principal?.id ?? "nobody";
    }),
    transfer: method({ params: z.looseObject({}) }, (params) => {
      ran.push("transfer");
      return params;
    }),
  };
  return { ran, methods };
}
