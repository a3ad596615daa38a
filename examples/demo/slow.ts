import { setTimeout as sleep } from "node:timers/promises";
import { method } from "callwire";
import * as z from "zod";

export const slow = {
  work: method(
    {
      summary: "Take so many milliseconds, and report progress ten times",
      description: "Cancel it, and the work stops.",
      params: z.object({ ms: z.int().min(0).max(60_000) }),
      result: z.string(),
      examples: [{ params: { ms: 2000 }, result: "worked for 2000 ms" }],
    },
    async ({ ms }, call) => {
      for (let percent = 10; percent <= 100; percent += 10) {
        await sleep(ms / 10, undefined, { signal: call.signal });
        call.progress({ percent });
      }
      return `worked for ${ms} ms`;
    },
  ),
};
