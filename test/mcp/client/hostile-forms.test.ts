/** Forms of servers whose schemas are not schemas. */
import { expect, test } from "vitest";
import { fieldsOf } from "../../../src/cli/mcp/field.ts";
import { listLines } from "../../../src/cli/mcp/view.ts";
import { Terminal } from "../../../src/cli/terminal.ts";
import { Input } from "../../../src/mcp/client/input.ts";

test("a form with members that are not schemas is filled in without these", async () => {
  let shown: unknown;
  const input = new Input({
    elicitForm: ({ requestedSchema }) => {
      shown = requestedSchema;
      return { action: "accept", content: { b: 1 } };
    },
  });
  const properties = { a: null, b: 7, c: { default: "x" } };
  const params = { message: "", requestedSchema: { properties, required: 5 } };
  const { signal } = new AbortController();
  expect(
    await input.answer({ method: "elicitation/create", params } as never, { signal }),
  ).toMatchObject({ action: "accept", content: { b: 1, c: "x" } });
  expect(shown).toEqual({ properties: { a: {}, b: {}, c: { default: "x" } } });
});

test("choices that refuse to become text are shown as JSON", () => {
  const [field] = fieldsOf({ properties: { a: { enum: [{ toString: 1 }, "plain"] } } });
  expect(field?.about).toEqual(['  1. {"toString":1}', "  2. plain"]);
});

test("very many tools and a very long name are listed", () => {
  const tools = Array.from({ length: 200_000 }, () => ({ name: "x", description: "y" }));
  const name = "n".repeat(100_000);
  const lines = listLines([...tools, { name }], new Terminal(process.stderr));
  expect(lines).toHaveLength(200_001);
  expect(lines[0]?.length).toBeLessThan(200);
});
