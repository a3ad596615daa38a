import { createServer, method } from "callwire";
import {
  htmlReference,
  markdownReference,
  openrpcDocument,
  readDocument,
  readMarkdown,
} from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { methods as demo } from "../../examples/demo/methods.ts";
import { hostile } from "./hostile.ts";

const document = openrpcDocument(createServer(demo).methods, { title: "Demo", version: "1.0.0" });

describe("Markdown", () => {
  const text = markdownReference(document);

  test("has a section for each method", () => {
    for (const { name } of document.methods) expect(text).toContain(`\n### \`${name}\`\n`);
  });

  test("shows params, errors, streams and examples", () => {
    const section = (name: string): string =>
      text.split(`\n### \`${name}\`\n`)[1]?.split("\n### ")[0] ?? "";
    expect(section("math/sqrt")).toContain("| `x` | `number` | yes |  |");
    expect(section("math/sqrt")).toContain(
      "| -32000 | `NEGATIVE_INPUT` | Negative input | `{ x: number }` |",
    );
    expect(section("math/sqrt")).toContain('<-- {"jsonrpc":"2.0","result":3,"id":1}');
    expect(section("notify_log")).toContain("| `source` | `string` | no |");
    expect(section("math/add_stream")).toContain("Stream of: `number`");
    expect(section("paritosh/stream")).toContain(
      '<-- {"jsonrpc":"2.0","method":"$/stream","params":{"id":1,"value":"h"}}',
    );
    expect(section("add")).toContain('--> {"jsonrpc":"2.0","method":"add","params":[5,3],"id":1}');
  });

  test("keeps hostile text from becoming HTML or cells of a table", () => {
    const written = markdownReference(hostile);
    const prose = written
      .replaceAll(/(`{3,})[\s\S]*?\n\1\n/g, "")
      .replaceAll(/(`+)[^\n]*?[^`]\1(?!`)/g, "");
    expect(prose).not.toMatch(/<(script|img)/);
    expect(written).toContain("\n| `\\| a \\| b \\|` | 😀 |\n");
  });
});

test("both show what a method takes as an upload", () => {
  const params: never[] = [];
  const methods = [{ name: "sum", params, "x-upload": { item: { type: "number" } } }];
  const own = { openrpc: "1.3.2", info: { title: "", version: "" }, methods };
  expect(markdownReference(own)).toContain("Upload of: `number`");
  expect(htmlReference(own)).toContain("Upload of: <code>number</code>");
});

describe("HTML", () => {
  test("has a section for each method", () => {
    const page = htmlReference(document);
    for (const { name } of document.methods)
      expect(page).toContain(`<h2><code>${name}</code></h2>`);
    expect(page).toContain("NEGATIVE_INPUT");
    expect(page).toContain("Stream of: <code>number</code>");
  });

  test("has only its own tags, and none that run or load anything", () => {
    const page = htmlReference(hostile);
    const tags = new Set(Array.from(page.matchAll(/<([a-z][a-z0-9]*)/gi), ([, tag]) => tag));
    expect(page).toContain("&lt;script&gt;");
    for (const tag of ["script", "img", "iframe", "link", "object"])
      expect(tags).not.toContain(tag);
    expect(page).not.toMatch(/<[^>]*\son\w+=/);
    expect(page.match(/<\/style>/g)).toHaveLength(1);
  });
});

describe("what a reference shows of params", () => {
  const own = openrpcDocument(
    createServer({
      users: {
        list: method(
          {
            summary: "Lists users",
            description:
              "Lists **users**, see [docs](https://example.com/a?b&c).\n\n1. first\n2. second",
            params: z.object({
              page: z.int().min(1).max(100).default(1).describe("Which `page`"),
              name: z
                .string()
                .regex(/^[a-z]+$/)
                .optional(),
            }),
            result: z.array(z.object({ id: z.string() }).meta({ id: "User" })),
          },
          () => [],
        ),
      },
    }).methods,
    { title: "Users", version: "1" },
  );

  test("limits, defaults, patterns and integers", () => {
    for (const text of [htmlReference(own), markdownReference(own)]) {
      expect(text).toContain("integer, 1 to 100, default 1");
      expect(text).toContain("matches /^[a-z]+$/");
    }
  });

  test("HTML groups methods, links types and renders Markdown", () => {
    const page = htmlReference(own);
    expect(page).toContain("<h2>users</h2>");
    expect(page).toContain('<a href="#method-1"><code>list</code> <small>Lists users</small></a>');
    expect(page).toContain('<a href="#type-User">User</a>[]');
    expect(page).toContain('<section id="type-User">');
    expect(page).toContain("Lists <strong>users</strong>");
    expect(page).toContain('<a href="https://example.com/a?b&amp;c" rel="noreferrer">docs</a>');
    expect(page).toContain("<ol>\n<li>first</li>");
    expect(page).toContain("Which <code>page</code>");
  });
});

describe("Markdown in descriptions", () => {
  test.each([
    [
      "a `b` **c** *d* _e_ snake_case_name",
      "text code text strong text emphasis text emphasis text",
    ],
    ["[x](javascript:alert(1)) ![i](https://a.b/c.png)", "text link"],
    ["2 * 3 * 4 and **open", "text"],
  ])("%s", (text, kinds) => {
    const [block] = readMarkdown(text);
    if (block?.kind !== "paragraph") throw new TypeError("not a paragraph");
    expect(block.spans.map(({ kind }) => kind).join(" ")).toBe(kinds);
  });

  test("blocks", () => {
    const text = "# Title\n\nOne\ntwo\n\n- a\n  more\n- b\n\n```ts\n*x*\n```\nend";
    expect(readMarkdown(text).map(({ kind }) => kind)).toEqual([
      "heading",
      "paragraph",
      "list",
      "code",
      "paragraph",
    ]);
  });
});

describe("documents of other tools", () => {
  test.each([null, 7, "text", [], {}, { openrpc: "1.3.2" }, { methods: [] }])(
    "%j is none",
    (value) => {
      expect(() => readDocument(value)).toThrow(/not an OpenRPC document/);
    },
  );

  test("references to params, results, errors and methods are followed", () => {
    const read = readDocument({
      openrpc: "1.2.6",
      info: { title: "T", version: "1" },
      methods: [
        {
          name: "get",
          params: [{ $ref: "#/components/contentDescriptors/Id" }],
          result: { $ref: "#/components/contentDescriptors/User" },
          errors: [{ $ref: "#/components/errors/Gone" }],
        },
      ],
      components: {
        contentDescriptors: {
          Id: { name: "id", required: true, schema: { type: "string" } },
          User: { name: "user", schema: { $ref: "#/components/schemas/User" } },
        },
        errors: { Gone: { code: 410, message: "Gone" } },
        schemas: { User: { type: "object" } },
      },
    });
    expect(read.methods).toMatchObject([
      {
        params: [{ name: "id", required: true, schema: { type: "string" } }],
        result: { schema: { $ref: "#/components/schemas/User" } },
        errors: [{ code: 410, message: "Gone" }],
      },
    ]);
  });

  test("a hostile one is read", () => {
    expect(readDocument(hostile).methods.length).toBeGreaterThan(30);
  });

  test("types that refer only to themselves are empty, and types that refer to them stay", () => {
    const { components } = readDocument(
      ofTypes({
        Own: { $ref: "#/components/schemas/Own" },
        Hen: { anyOf: [{ type: "string" }, { $ref: "#/components/schemas/Egg" }] },
        Egg: { allOf: [{ not: { $ref: "#/components/schemas/Hen" } }] },
        Farm: { oneOf: [{ $ref: "#/components/schemas/Hen" }] },
        Tree: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
      }),
    );
    expect(components?.schemas).toEqual({
      Own: {},
      Hen: {},
      Egg: {},
      Farm: { oneOf: [{ $ref: "#/components/schemas/Hen" }] },
      Tree: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
    });
  });

  test("each of many types is read a few times, however many refer to it", () => {
    const count = 300;
    let looks = 0;
    const types = Array.from({ length: count }, (_, i) => {
      const others = [1, 2, 7, 60].map((step) => i + step).filter((other) => other < count);
      const anyOf = others.map((other) => ({ $ref: `#/components/schemas/T${other}` }));
      const type = {
        get anyOf() {
          looks++;
          return anyOf;
        },
      };
      return [`T${i}`, type] as const;
    });
    readDocument(ofTypes(Object.fromEntries(types)));
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(10 * count);
  });
});

function ofTypes(schemas: object): object {
  return {
    openrpc: "1.3.2",
    info: { title: "T", version: "1" },
    methods: [],
    components: { schemas },
  };
}
