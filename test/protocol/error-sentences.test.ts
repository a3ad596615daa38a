/** Programs read `code` and the members of `data`; sentences are for people and may change. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { type Node, parse } from "acorn";
import { buildSync, transformSync } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../entries.ts";

/** Members that hold sentences. */
const sentences: ReadonlySet<unknown> = new Set(["message", "details", "sentence", "stack"]);
/** A string with these names may be a sentence; a JSON-RPC message, which is often called `message`, is not. */
const ownNames: ReadonlySet<unknown> = new Set(["details", "sentence"]);
/** Methods of a string whose result is still a sentence. */
const changes: ReadonlySet<unknown> = new Set(
  "toLowerCase toUpperCase slice substring trim replace replaceAll split at normalize".split(" "),
);
/** Methods of a string that compare it. */
const comparisons: ReadonlySet<unknown> = new Set(
  "includes startsWith endsWith match matchAll search indexOf lastIndexOf localeCompare".split(" "),
);
/** Methods that compare their argument with their object. */
const lookups: ReadonlySet<unknown> = new Set(
  "includes indexOf has get test exec match startsWith endsWith".split(" "),
);
const errorNames = /^(err|error|cause|failure|reason|thrown)$/;

/** Comparisons that decide nothing about a call, or with a program that offers only sentences. */
const allowed: readonly [code: RegExp, why: string][] = [
  [/max_payload/, "the NATS client has no code for it"],
  [/\^OOM/, "Redis has its codes only as the first word of the message"],
  [
    /report\.message === this\.message/,
    "compares two messages of one failure to print one of them",
  ],
  [/bare\.test\(error\.message\)/, "completes a message of another server, for people only"],
  [/notTls\.test\(message\)/, "the number of an OpenSSL error is in its message only"],
  [/connection refused\/i\.test\(why\)/, "Deno gives the reason in the message only"],
  [/reason\.startsWith\(what\)/, "does not print an address twice"],
  [/"\[object Object\]"/, "the string of every plain object"],
  [/stack\.matchAll\(\/\^ \+at/, "reads stack frames"],
];

interface Any extends Node {
  readonly [member: string]: unknown;
}

function isNode(value: unknown): value is Any {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function childrenOf(node: Any): Any[] {
  return Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );
}

/** The name of a property: `a.name`, `a["name"]` or `{ name: … }`. */
function nameOf(key: unknown, computed: unknown): unknown {
  if (!isNode(key)) return undefined;
  if (key.type === "Identifier") return computed === true ? undefined : key.name;
  return key.type === "Literal" ? key.value : undefined;
}

/** All comparisons of sentences in JavaScript. */
function suspectsIn(code: string): string[] {
  const found: string[] = [];
  const aliases = new Set<unknown>(ownNames);

  const isSentence = (node: unknown): boolean => {
    if (!isNode(node)) return false;
    switch (node.type) {
      case "Identifier":
        return aliases.has(node.name);
      case "ChainExpression":
        return isSentence(node.expression);
      case "MemberExpression":
        return sentences.has(nameOf(node.property, node.computed));
      case "LogicalExpression":
        return isSentence(node.left) || isSentence(node.right);
      case "ConditionalExpression":
        return isSentence(node.consequent) || isSentence(node.alternate);
      case "TemplateLiteral":
        return (node.expressions as Any[]).some((each) => isError(each) || isSentence(each));
      case "CallExpression":
        return isSentenceCall(node);
      default:
        return false;
    }
  };
  const isError = (node: unknown): boolean =>
    isNode(node) && node.type === "Identifier" && errorNames.test(node.name as string);
  const isSentenceCall = ({ callee, arguments: given }: Any): boolean => {
    if (!isNode(callee)) return false;
    const [first] = given as Any[];
    if (callee.type === "Identifier")
      return (
        /^(String|oneLine)$/.test(callee.name as string) && (isError(first) || isSentence(first))
      );
    if (callee.type !== "MemberExpression") return false;
    const name = nameOf(callee.property, callee.computed);
    return changes.has(name)
      ? isSentence(callee.object)
      : name === "toString" && (isError(callee.object) || isSentence(callee.object));
  };
  /** Expressions that only test whether there is a sentence. */
  const isEmpty = (node: unknown): boolean =>
    isNode(node) &&
    ((node.type === "Literal" && (node.value === "" || typeof node.value !== "string")) ||
      (node.type === "Identifier" && node.name === "undefined") ||
      (node.type === "UnaryExpression" && node.operator === "void"));
  const isDataText = (one: unknown, other: unknown): boolean =>
    isNode(one) &&
    one.type === "MemberExpression" &&
    nameOf(one.property, one.computed) === "data" &&
    isNode(other) &&
    other.type === "Literal" &&
    typeof other.value === "string";

  const compares = (node: Any): boolean => {
    const { left, right, callee, object, property } = node;
    if (node.type === "BinaryExpression") {
      if (!/^[!=]==?$/.test(node.operator as string) || isEmpty(left) || isEmpty(right))
        return false;
      const isCompared = isSentence(left) || isSentence(right);
      return isCompared || isDataText(left, right) || isDataText(right, left);
    }
    if (node.type === "SwitchStatement") return isSentence(node.discriminant);
    if (node.type === "MemberExpression")
      return node.computed === true && isNode(object) && isSentence(property);
    if (node.type !== "CallExpression" || !isNode(callee) || callee.type !== "MemberExpression")
      return false;
    const name = nameOf(callee.property, callee.computed);
    const [first] = node.arguments as Any[];
    return (
      (comparisons.has(name) && isSentence(callee.object)) ||
      (lookups.has(name) && isSentence(first))
    );
  };

  const alias = (node: Any): void => {
    if (node.type === "VariableDeclarator" && isSentence(node.init) && isNode(node.id)) {
      if (node.id.type === "Identifier") aliases.add(node.id.name);
    }
    if (node.type !== "ObjectPattern") return;
    for (const { key, computed, value } of node.properties as Any[]) {
      const name = nameOf(key, computed);
      const bound = isNode(value) && value.type === "AssignmentPattern" ? value.left : value;
      // `{ message }` may be a JSON-RPC message; under another name, or beside `name` or `code`, it is that of an error.
      const others = (node.properties as Any[]).map((each) => nameOf(each.key, each.computed));
      const isOwn = name !== "message" || others.includes("name") || others.includes("code");
      if (!sentences.has(name) || !isNode(bound) || bound.type !== "Identifier") continue;
      if (isOwn || bound.name !== name) aliases.add(bound.name);
    }
  };
  const walk = (node: Any, look: (node: Any) => void): void => {
    look(node);
    for (const child of childrenOf(node)) walk(child, look);
  };

  const tree = parse(code, { ecmaVersion: "latest", sourceType: "module" }) as unknown as Any;
  walk(tree, alias);
  walk(tree, (node) => {
    if (compares(node)) found.push(code.slice(node.start, node.end).split("\n")[0] as string);
  });
  return found.filter((each) => !allowed.some(([known]) => known.test(each)));
}

const suspects = (source: string): string[] =>
  suspectsIn(transformSync(source, { loader: "ts", target: "esnext" }).code);

test("no module compares the sentences of errors", () => {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "src"], {
    cwd: root,
    encoding: "utf8",
  }).split("\n");
  const entryPoints = listed.filter(
    (file) => /^src\/(?!lsp\/model\/).*\.ts$/.test(file) && existsSync(root + file),
  );
  const options = { outdir: "out", target: "esnext", write: false } as const;
  const { outputFiles } = buildSync({ ...options, absWorkingDir: root, entryPoints });
  const found = outputFiles.flatMap(({ path, text }) =>
    suspectsIn(text).map((code) => `${path.slice(path.indexOf("/out/") + 5)}: ${code}`),
  );
  expect(outputFiles.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

test.each([
  'if (error.message === "Server is shutting down") stop();',
  "const is = said.code === code && said.message === message;",
  'const is = reply.error.data === "nothing is served at this path";',
  'if (error.message.includes("shutting down")) stop();',
  'if (data.details.startsWith("the call")) stop();',
  'if (data?.details?.startsWith("the call")) stop();',
  "const is = /shutting down/.test(error.message);",
  "const is = /shutting down/.test((error as Error).message);",
  "const is = /closed the connection/.test(oneLine(error));",
  'const is = "Server busy" === error.message;',
  "switch (error.message) { case one: stop(); }",
  "const is = stopping.has(error.message);",
  'const { message: text } = error; if (text === "Server busy") stop();',
  'const { code, message } = error; if (message === "Server busy") stop();',
  'const text = error.message; if (text === "Server busy") stop();',
  'if (error["message"] === "Server busy") stop();',
  'if (String(error).includes("busy")) stop();',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the code of a template.
  'if (`${error}` === "Error: Server busy") stop();',
  'if (error.message\n  .includes("busy")) stop();',
  "const is = sentences.some((each) => each === error.message);",
  'const is = ["Server busy"].includes(error.message);',
  'if (error.message.toLowerCase() === "server busy") stop();',
  'if (error.message.slice(0, 6) == "Server") stop();',
  "const code = codes[error.message];",
  "const code = codes.get(error.message);",
  'if ((error.message ?? "") === "Server busy") stop();',
  'if (error.stack.includes("busy")) stop();',
])("the check notices: %s", (code) => {
  expect(suspects(code)).toHaveLength(1);
});

test.each([
  'const is = typeof error.message === "string";',
  'const reason = error.message === "" ? error.code : error.message;',
  "if (message === undefined) stop();",
  "if (status.message === undefined) stop();",
  "const first = open.get(message);",
  'if (error.data === undefined || error.data.reason === "busy") stop();',
])("the check leaves alone: %s", (code) => {
  expect(suspects(code)).toEqual([]);
});
