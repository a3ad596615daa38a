import { type } from "arktype";
import { createServer, method } from "callwire";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../server/asking.ts";

// Arktype sorts the members of a type by name, so their order says nothing about positions.
const transfer = type({ to: "string", from: "string" });

test("positional params are never given to the wrong names", async () => {
  const server = createServer({
    guessed: method({ params: transfer }, (params) => params),
    told: method({ params: transfer, positional: ["to", "from"] }, (params) => params),
  });
  expect(await ask(server, "guessed", ["Ada", "Bob"])).toMatchObject({
    error: { code: -32602, data: { details: "this method takes named params only" } },
  });
  const result = { to: "Ada", from: "Bob" };
  expect(await ask(server, "guessed", result)).toMatchObject({ result });
  expect(await ask(server, "told", ["Ada", "Bob"])).toMatchObject({ result });
});

test("a single param has no other place to go", async () => {
  const params = type({ message: "string" });
  const server = createServer({ echo: method({ params }, ({ message }) => message) });
  expect(await ask(server, "echo", ["hi"])).toMatchObject({ result: "hi" });
  expect(await ask(server, "echo", ["hi", "ho"])).toMatchObject({ error: { code: -32602 } });
});

test("a schema for anything, or for one of several forms, takes params by position too", async () => {
  const either = z.union([z.tuple([z.number()]), z.object({ n: z.number() })]);
  const server = createServer({
    anything: method({ params: z.unknown() }, (params) => params),
    either: method({ params: either }, (params) => params),
  });
  expect(await ask(server, "anything", [1, 2])).toMatchObject({ result: [1, 2] });
  expect(await ask(server, "anything", { a: 1 })).toMatchObject({ result: { a: 1 } });
  expect(await ask(server, "either", [1])).toMatchObject({ result: [1] });
  expect(await ask(server, "either", { n: 1 })).toMatchObject({ result: { n: 1 } });
  expect(await ask(server, "either", ["x"])).toMatchObject({ error: { code: -32602 } });
});
