/** The names of types in generated clients, which the programs of users import. */
import { pythonClient, typescriptClient } from "callwire/openrpc";
import { expect, test } from "vitest";

const record = (key: string, required = [key]) => ({
  type: "object",
  properties: { [key]: { type: "string" }, note: { type: "string" } },
  required,
});

const document = {
  openrpc: "1.3.2",
  info: { title: "Names", version: "1" },
  methods: [
    {
      name: "pets/find",
      params: [],
      result: {
        name: "result",
        schema: { anyOf: [record("cat", ["cat", "note"]), record("dog", ["dog", "note"])] },
      },
    },
  ],
  components: {
    schemas: {
      snake_case: record("a", ["a", "note"]),
      "My Type": record("b", ["b", "note"]),
      MyType: record("c", ["c", "note"]),
      "3d point": record("d"),
    },
  },
};

test("types of Python have the names of their schemas, or of the place where they are", () => {
  const classes = [...pythonClient(document).matchAll(/^class (\w+)\((\w+)/gm)]
    .filter(([, , base = ""]) => base === "TypedDict" || base.endsWith("Required"))
    .map(([, name]) => name);
  expect(classes).toEqual([
    "snake_case",
    "MyType",
    "MyType2",
    "x_3dPointRequired",
    "x_3dPoint",
    "PetsFindResult1",
    "PetsFindResult2",
  ]);
});

test("types of TypeScript have the names of their schemas", () => {
  const names = [...typescriptClient(document).matchAll(/^export interface (\w+)/gm)];
  expect(names.map(([, name]) => name)).toEqual([
    "snake_case",
    "MyType",
    "MyType2",
    "T3dPoint",
    "Methods",
  ]);
});
