import { method } from "callwire";
import { z } from "zod";

export const methods = {
  whoami: method({ summary: "Who calls" }, (_params, { principal }) => principal?.id ?? "nobody"),

  transfer: method(
    { summary: "Move money", params: z.object({ amount: z.number() }) },
    ({ amount }, { principal }) => `${amount} moved by ${principal?.id ?? "nobody"}`,
  ),
};
