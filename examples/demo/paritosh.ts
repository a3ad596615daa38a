import { setTimeout as sleep } from "node:timers/promises";
import { method, stream } from "callwire";
import * as z from "zod";

export const paritosh = {
  echo: method(
    {
      summary: "Put a name before a message; from the tutorial that this demo began with",
      params: z.object({ message: z.string() }),
      result: z.string(),
      idempotent: true,
      examples: [{ params: { message: "hi" }, result: "[Paritosh] hi" }],
    },
    ({ message }) => `[Paritosh] ${message}`,
  ),

  stream: stream(
    {
      summary:
        "Send a message a character at a time, as language models do; from the same tutorial",
      params: z.object({ message: z.string() }),
      item: z.string(),
      examples: [{ params: { message: "hi" }, result: ["h", "i"] }],
    },
    async function* ({ message }, call) {
      for (const character of message) {
        await sleep(50, undefined, { signal: call.signal });
        yield character;
      }
    },
  ),
};
