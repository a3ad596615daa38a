import { readFileSync } from "node:fs";
import { parse } from "acorn";
import { transformSync } from "esbuild";

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The titles of the tests and suites that a file declares; those that never run do not count. */
export function testTitles(path: string): readonly string[] {
  const { code } = transformSync(readFileSync(path, "utf8"), { loader: "ts" });
  const titles: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) look(each);
    else if (isNode(value)) {
      const title = value.type === "CallExpression" ? titleOf(value) : undefined;
      if (title !== undefined) titles.push(title);
      for (const member of Object.values(value)) look(member);
    }
  };
  look(parse(code, { ecmaVersion: "latest", sourceType: "module" }));
  return titles;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

/** Of `test(title, …)`, `describe(title, …)`, or one of their forms, such as `test.each(cases)(title, …)`. */
function titleOf(call: Node): string | undefined {
  const [title] = call["arguments"] as readonly Node[];
  if (title === undefined || !declares(call["callee"] as Node)) return undefined;
  if (title.type === "Literal") return String(title["value"]);
  if (title.type !== "TemplateLiteral") return undefined;
  const parts = title["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  return parts.map(({ value }) => value.cooked).join("…");
}

function declares(callee: Node): boolean {
  switch (callee.type) {
    case "Identifier":
      return /^(test|describe)/.test(String(callee["name"]));
    case "MemberExpression": {
      const { name } = callee["property"] as unknown as { readonly name: string };
      return !["skip", "todo", "fails"].includes(name) && declares(callee["object"] as Node);
    }
    case "CallExpression":
      return declares(callee["callee"] as Node);
    default:
      return false;
  }
}
