import { type Node, parse } from "acorn";
import { transformSync } from "esbuild";
import { compareDocuments } from "../../../src/openrpc/document-comparison.ts";
import { readDocument } from "../../../src/openrpc/document-reading.ts";
import { htmlReference } from "../../../src/openrpc/html.ts";
import { markdownReference } from "../../../src/openrpc/markdown.ts";
import { pythonClient } from "../../../src/openrpc/python.ts";
import type { OpenrpcDocument } from "../../../src/openrpc/specification.ts";
import { typescriptClient } from "../../../src/openrpc/typescript.ts";
import { jsonText } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

/** Documents of strangers, and what is generated from them: pages that people open and code that they run. */
export const openrpc = fuzzTarget<{ document: unknown; other: unknown }>({
  holds:
    "a document is refused with a TypeError or read; the TypeScript and Python made of it parse and run no code of it; pages have no element or script of it",
  briefly: 60,
  reaches: ["generated", "refused"],
  generate: (random) => ({ document: documentOf(random), other: documentOf(random) }),
  check({ document, other }) {
    if (!isReadable(document)) return "refused";
    checkTypeScript(typescriptClient(document));
    checkPython(pythonClient(document));
    checkHtml(htmlReference(document));
    markdownReference(document);
    if (isReadable(other)) compareDocuments(document, other);
    return "generated";
  },
});

function isReadable(document: unknown): document is OpenrpcDocument {
  try {
    readDocument(document);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** The name of a function that no output may call. */
const marker = "PWNED";

function checkTypeScript(code: string): void {
  let script = "";
  try {
    script = transformSync(code, { loader: "ts", logLevel: "silent" }).code;
  } catch (error) {
    broken("the TypeScript does not parse", { error: (error as Error).message, code });
  }
  visit(parse(script, { ecmaVersion: "latest", sourceType: "module" }), (node) => {
    const { callee } = node as Node & { callee?: { name?: string } };
    if (callee?.name === marker) broken("the TypeScript runs code of the document", { script });
  });
}

function visit(node: Node, seen: (node: Node) => void): void {
  seen(node);
  for (const member of Object.values(node)) {
    for (const child of [member].flat()) if (typeof child?.type === "string") visit(child, seen);
  }
}

/** Strings of all kinds, and comments. */
const pythonText =
  /"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|#[^\n]*/g;

function checkPython(code: string): void {
  const rest = code.replace(pythonText, "0");
  if (/["']/.test(rest)) broken("a string is not closed in the Python", { code });
  if (/(?<!def |class |\.|\w)PWNED\(/.test(rest)) broken("the Python runs code", { code });
  const odd = rest.replace(/\p{ID_Continue}/gu, "");
  if (/[^\x20-\x7e\n]/.test(odd)) broken("odd characters in the Python", { code });
}

const ourElement =
  /^<(?:!doctype|\/?(?:html|head|meta|title|style|body|a|div|nav|main|h[1-6]|ul|ol|li|p|code|pre|small|section|article|table|thead|tbody|tr|th|td|span|strong|em|b|i|br|hr|dl|dt|dd|details|summary|header|footer|blockquote|abbr|del)\b)/i;

function checkHtml(page: string): void {
  for (const tag of page.match(/<[a-z!/][^>]*>/gi) ?? []) {
    const bare = tag.replace(/"[^"]*"|'[^']*'/g, '""');
    const isOurs = ourElement.test(tag) && !/\son\w+=/i.test(bare);
    if (!isOurs) broken("an element of the document is in the page", { tag });
    if (/href="\s*(?:javascript|data|vbscript):/i.test(tag)) broken("a script is linked", { tag });
  }
}

const names = [
  ...["add", "math/add", "a.b", "a/b/c", "constructor", "__proto__", "toString", "class", "import"],
  ...["default", "def", "None", "self", "1a", "a-b", "", "größe", "$", "_", "then", "a b", "math"],
];
const texts = [
  "Adds.",
  "",
  `"; ${marker}(); "`,
  `'; ${marker}(); '`,
  `*/ ${marker}(); /*`,
  `\n${marker}()\n`,
  `"""\n${marker}()\n"""`,
  `'''\n${marker}()`,
  `\\"""\n${marker}()`,
  "\\",
  '"',
  `\`\${${marker}()}\``,
  `\u2028${marker}()`,
  `\r${marker}()`,
  `\u0085${marker}()`,
  `\f${marker}()`,
  `<img src=x onerror=${marker}()>`,
  `" onmouseover="${marker}()`,
  `[x](javascript:${marker}())`,
  `[x](https://example.com "t")`,
  "```\n<script>\n```",
  `</style><script>${marker}()</script>`,
  "\u0000\u001b[31m\u202e",
  "# Title\n\n- a\n- b\n\n> c",
  "\ud800",
];
const references = ["A", "B", "a~1b", "__proto__"].map((name) => `#/components/schemas/${name}`);
const kinds = ["string", "number", "integer", "boolean", "null", "array", "object", "any"];

function text(random: Random): string {
  return random.oneIn(2) ? random.pick(texts) : random.pick(names);
}

function odd(random: Random): unknown {
  return JSON.parse(jsonText(random, 2));
}

function schema(random: Random, depth = 3): unknown {
  if (random.oneIn(20)) return random.oneIn(2) ? random.oneIn(2) : odd(random);
  const inner = (): unknown => schema(random, depth - 1);
  const object: Record<string, unknown> = {};
  switch (random.below(depth > 0 ? 10 : 4)) {
    case 0:
      object["type"] = random.pick<unknown>([...kinds, ["string", "null"], []]);
      break;
    case 1:
      object["enum"] = random.some(4, () => (random.oneIn(3) ? odd(random) : text(random)));
      break;
    case 2:
      object["const"] = random.oneIn(2) ? text(random) : odd(random);
      break;
    case 3:
      object["$ref"] = random.oneIn(3)
        ? random.pick(["#", "#/methods/0", "http://x/y", text(random)])
        : random.pick(references);
      break;
    case 4:
    case 5:
      object["type"] = "object";
      object["properties"] = Object.fromEntries(random.some(4, () => [text(random), inner()]));
      if (random.oneIn(2)) object["required"] = random.some(3, () => text(random));
      if (random.oneIn(3)) object["additionalProperties"] = inner();
      break;
    case 6: {
      const items = random.pick(["items", "prefixItems"]);
      object["type"] = "array";
      object[items] = random.oneIn(3) ? random.some(3, inner) : inner();
      break;
    }
    default:
      object[random.pick(["anyOf", "oneOf", "allOf"])] = random.some(3, inner);
  }
  if (random.oneIn(5)) object["x-callwire-type"] = random.pick(["date", "map", "bytes", "x", 1]);
  const notes = ["description", "title", "format", "default", "pattern", "minimum", "$defs"];
  if (random.oneIn(4)) object[random.pick(notes)] = text(random);
  return object;
}

function content(random: Random): unknown {
  if (random.oneIn(12)) return odd(random);
  const [name, description] = [text(random), text(random)];
  return { name, schema: schema(random), required: random.oneIn(2), description };
}

function method(random: Random): unknown {
  const object: Record<string, unknown> = {
    name: random.oneIn(4) ? text(random) : random.pick(names),
    params: random.some(3, () => content(random)),
  };
  if (random.oneIn(2)) object["result"] = content(random);
  if (random.oneIn(2)) object["summary"] = text(random);
  if (random.oneIn(2)) object["description"] = text(random);
  if (random.oneIn(5)) object["x-stream"] = { item: schema(random) };
  if (random.oneIn(8)) object["x-upload"] = { item: schema(random) };
  if (random.oneIn(6)) object["x-params"] = schema(random);
  if (random.oneIn(5)) object["paramStructure"] = random.pick(["by-name", "by-position", "x"]);
  if (random.oneIn(5)) object["x-idempotent"] = true;
  if (random.oneIn(6)) object["tags"] = [{ name: text(random) }];
  if (random.oneIn(5)) {
    object["x-errors"] = random.some(3, () => ({
      name: text(random),
      code: random.pick([1, 1.5, "1"]),
      message: text(random),
      data: schema(random),
    }));
  }
  if (random.oneIn(5)) {
    object["examples"] = random.some(2, () => ({
      name: text(random),
      params: random.some(2, () => ({ name: text(random), value: odd(random) })),
      result: { name: "r", value: text(random) },
    }));
  }
  return object;
}

function documentOf(random: Random): unknown {
  if (random.oneIn(20)) return JSON.parse(jsonText(random));
  const schemas = random.some(4, () => [
    random.pick(["A", "B", "a/b", "__proto__", text(random)]),
    schema(random),
  ]);
  return {
    openrpc: "1.3.2",
    info: { title: text(random), version: text(random), description: text(random) },
    methods: random.some(4, () => (random.oneIn(20) ? odd(random) : method(random))),
    components: { schemas: Object.fromEntries(schemas) },
    servers: random.some(2, () => ({
      url: random.oneIn(2) ? text(random) : "http://localhost:8000/rpc",
      name: text(random),
    })),
  };
}
