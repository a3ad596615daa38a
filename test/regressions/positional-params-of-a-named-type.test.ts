import { createServer, method } from "callwire";
import { expect, test } from "vitest";
import * as z from "zod";

// The JSON Schema of such a type is a reference, in which no members were found.
test("params whose type has an id are taken by position too", () => {
  const params = z.object({ a: z.number(), b: z.number() }).meta({ id: "Minus" });
  const server = createServer({
    minus: method({ params, result: z.number() }, ({ a, b }) => a - b),
  });
  const reply = server.receive('{"jsonrpc":"2.0","method":"minus","params":[5,3],"id":1}');
  expect(reply).toBe('{"jsonrpc":"2.0","result":2,"id":1}');
});
