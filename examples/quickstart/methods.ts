import { method, stream } from "callwire";
import { z } from "zod";

export const methods = {
  math: {
    add: method(
      {
        summary: "Add two numbers",
        params: z.object({ a: z.number(), b: z.number() }),
        result: z.number(),
      },
      ({ a, b }) => a + b,
    ),

    count: stream(
      { params: z.object({ to: z.number().int() }), item: z.number() },
      async function* ({ to }) {
        for (let i = 0; i <= to; i++) yield i;
      },
    ),
  },

  echo: (message: string) => message,
};
