/** Names and texts that try to break out of where they are written. */
const breakouts = [
  "__proto__",
  "constructor",
  "toString",
  "then",
  "a/then",
  "class",
  "def",
  "self",
  "__init__",
  "__class__",
  "_client",
  "None",
  "any",
  "keyof",
  "unique",
  "1st",
  "a b",
  "a-b",
  "a_b",
  "a.b",
  "a/b",
  "a/b/c",
  "/",
  "a//b",
  "",
  "`",
  '"; throw 1; //',
  "'); import os; os._exit(1) #",
  '"""\nraise SystemExit(1)\n"""',
  "*/ throw new Error('out'); /*",
  "line\nbreak",
  "line\u2028separator",
  "\r\nraise SystemExit(1)",
  "back\\slash\\",
  'quote"',
  `$\{process.exit(1)}`,
  "<script>alert(1)</script>",
  "</pre><img src=x onerror=alert(1)>",
  "| a | b |",
  "\u202etxet",
  "日本",
  "😀",
  `deep${"/deep".repeat(5_000)}`,
];

const schemas = Object.fromEntries([
  ...breakouts.map((name, i) => [
    name,
    {
      type: "object",
      description: breakouts[(i + 1) % breakouts.length],
      properties: Object.fromEntries(
        breakouts.map((key) => [key, { description: key, enum: [key, null, 1, true] }]),
      ),
      required: breakouts.slice(0, i),
    },
  ]),
  ["Self", { $ref: "#/components/schemas/Self" }],
  ["Ping", { anyOf: [{ $ref: "#/components/schemas/Pong" }, { type: "null" }] }],
  ["Pong", { allOf: [{ $ref: "#/components/schemas/Ping" }] }],
  ["Array", { type: "array", items: { $ref: "#/components/schemas/Array" } }],
  [
    "Formula",
    {
      type: "array",
      prefixItems: [{ const: "and" }],
      items: { anyOf: [{ type: "number" }, { $ref: "#/components/schemas/Formula" }] },
    },
  ],
  ["Quoted", { type: "object", description: 'ends with """', properties: { a: {} } }],
  ["Percent", { $ref: "#/components/schemas/100%" }],
  ["Link", { type: "string" }],
  ["Method", { type: ["string", "null"] }],
  ["Nothing", false],
  ["Wrong", { type: 7, properties: [], required: "x", items: null, anyOf: {}, enum: "x" }],
  ["Missing", { $ref: "#/components/schemas/IsNotThere" }],
  ["Outside", { $ref: "https://example.com/schema.json" }],
  ["Deep", deep(500)],
]);

function deep(levels: number): object {
  return levels === 0 ? {} : { type: "array", items: deep(levels - 1) };
}

const ref = (name: string) => ({
  $ref: `#/components/schemas/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
});

/** A document that callwire did not make, and that breaks some of the rules. */
export const hostile: unknown = {
  openrpc: "1.3.2",
  info: { title: '*/ """ <script>\nalert(1)', version: "\n# 1", description: '"""*/</style>' },
  servers: [{ url: 'javascript:alert("x")' }, { url: 'http://x/"+process.exit(1)+"' }, 7],
  methods: [
    ...breakouts.map((name, i) => ({
      name,
      summary: breakouts[(i + 3) % breakouts.length],
      description: breakouts.join("\n"),
      paramStructure: ["by-name", "by-position", "either", "nonsense"][i % 4],
      params: breakouts.map((param, j) => ({
        name: param,
        description: param,
        required: (i + j) % 3 === 0,
        schema: ref(breakouts[j] as string),
      })),
      result: { name: "result", schema: ref(name) },
      errors: [{ code: 1, message: name }, { code: 1.5, message: "no integer" }, null],
      "x-errors": breakouts.map((error, code) => ({ name: error, code, message: error, data: {} })),
      "x-idempotent": true,
      tags: [{ name }],
      examples: [{ name, params: [{ name, value: name }], result: { name, value: name } }],
      ...(i % 5 === 0 ? { "x-stream": { item: ref(name) } } : {}),
    })),
    {
      name: "circle",
      params: [{ $ref: "#/components/contentDescriptors/A" }],
      result: { $ref: "#/nowhere" },
    },
    { $ref: "#/methods/0" },
    { $ref: "https://example.com/method.json" },
    null,
    7,
    { params: [] },
  ],
  components: {
    schemas,
    contentDescriptors: {
      A: { $ref: "#/components/contentDescriptors/B" },
      B: { $ref: "#/components/contentDescriptors/A" },
    },
  },
};
