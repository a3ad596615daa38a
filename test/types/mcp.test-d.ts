import type { Context } from "callwire";
import { type McpCall, type PromptOutput, prompt, resource, tool } from "callwire/mcp";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

test("the input of a tool is what its schema makes of it", () => {
  tool({ input: z.object({ a: z.number(), b: z.string().default("x") }) }, (input, call) => {
    expectTypeOf(input).toEqualTypeOf<{ a: number; b: string }>();
    expectTypeOf(call).toEqualTypeOf<McpCall>();
    expectTypeOf(call).toExtend<Context>();
    return "done";
  });
  tool({ input: { type: "object", properties: { a: { type: "number" } } } }, (input) => {
    expectTypeOf(input).toEqualTypeOf<Readonly<Record<string, unknown>>>();
    return { a: 1 };
  });
  // @ts-expect-error a number is neither content nor data
  tool({}, () => 5);
});

test("what a user filled in is typed by the form", () => {
  tool({}, async (_, call) => {
    const answer = await call.elicit("Who?", z.object({ name: z.string() }));
    if (answer.action === "accept") {
      expectTypeOf(answer.content).toEqualTypeOf<{ name: string }>();
    } else expectTypeOf(answer.content).toEqualTypeOf<undefined>();
    return "done";
  });
});

test("prompts get their arguments, resources their variables", () => {
  prompt({ arguments: z.object({ style: z.string() }) }, (args) => {
    expectTypeOf(args).toEqualTypeOf<{ style: string }>();
    return args.style satisfies PromptOutput;
  });
  prompt({ arguments: [{ name: "style" }] }, (args) => {
    expectTypeOf(args).toEqualTypeOf<Readonly<Record<string, string>>>();
    return "done";
  });
  resource({
    uriTemplate: "x://{id}",
    complete: { id: () => [] },
    read: (variables) => {
      expectTypeOf(variables.id).toEqualTypeOf<string>();
      return variables.id;
    },
  });
  resource({
    uriTemplate: "x://{host}/{a,b:3}{/rest*}{?page,size}{&more}",
    read: (variables) => {
      expectTypeOf(variables).branded.toEqualTypeOf<{
        readonly host: string;
        readonly a: string;
        readonly b: string;
        readonly rest: string;
        readonly page?: string;
        readonly size?: string;
        readonly more?: string;
      }>();
      return variables.rest;
    },
  });
  // @ts-expect-error the template has no such variable
  resource({ uriTemplate: "x://{id}", read: ({ nope }) => nope });
  // @ts-expect-error there is nothing to complete under this name
  resource({ uriTemplate: "x://{id}", complete: { nope: () => [] }, read: () => "" });
  resource({
    uriTemplate: "x://{id}" as string,
    read: (variables) => {
      expectTypeOf(variables).toEqualTypeOf<Readonly<Record<string, string>>>();
      return variables.anything;
    },
  });
});
