import { method, stream } from "callwire";
import * as z from "zod";

const twoNumbers = z.object({ a: z.number(), b: z.number() });
const whole = z.int().min(0).max(1_000_000);

export const math = {
  add: method(
    {
      summary: "Add two numbers",
      params: twoNumbers,
      result: z.number(),
      idempotent: true,
      examples: [{ params: { a: 2, b: 3 }, result: 5 }],
    },
    ({ a, b }) => a + b,
  ),

  subtract: method(
    {
      summary: "Subtract b from a",
      params: twoNumbers,
      result: z.number(),
      idempotent: true,
      examples: [{ params: { a: 9, b: 4 }, result: 5 }],
    },
    ({ a, b }) => a - b,
  ),

  multiply: method(
    {
      summary: "Multiply two numbers",
      params: twoNumbers,
      result: z.number(),
      idempotent: true,
      examples: [{ params: [6, 7], result: 42 }],
    },
    ({ a, b }) => a * b,
  ),

  sqrt: method(
    {
      summary: "Take the square root of a number that is not negative",
      params: z.object({ x: z.number() }),
      result: z.number(),
      errors: { NEGATIVE_INPUT: { code: -32000, data: z.object({ x: z.number() }) } },
      idempotent: true,
      examples: [
        { params: { x: 9 }, result: 3 },
        { name: "an error", params: { x: -1 } },
      ],
    },
    ({ x }, _, errors) => {
      if (x < 0) throw errors.NEGATIVE_INPUT({ x });
      return Math.sqrt(x);
    },
  ),

  count: stream(
    {
      summary: "Count from 0 to a whole number",
      params: z.object({ to: whole }),
      item: z.int(),
      examples: [{ params: { to: 3 }, result: [0, 1, 2, 3] }],
    },
    function* ({ to }) {
      for (let n = 0; n <= to; n++) yield n;
    },
  ),

  add_stream: stream(
    {
      summary: "Count from 0 to the sum of two whole numbers",
      params: z.object({ a: whole, b: whole }),
      item: z.int(),
      examples: [{ params: { a: 2, b: 3 }, result: [0, 1, 2, 3, 4, 5] }],
    },
    function* ({ a, b }) {
      for (let n = 0; n <= a + b; n++) yield n;
    },
  ),
};
