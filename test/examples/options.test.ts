/** Every setting of a public options interface says what it does. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { entries, root } from "../entries.ts";
import { declarationOf, exportsOf } from "./declarations.ts";

interface Member {
  readonly name: string;
  /** A comment that only gives the default does not say what the setting does. */
  readonly isDocumented: boolean;
  /** An optional number or flag has a default. */
  readonly hasDefault: boolean;
}

interface Shape {
  readonly members: readonly Member[];
  /** The types that it extends or consists of. */
  readonly parts: readonly string[];
}

const settings = /(?:Options|Config|Definition|Policy|PolicyRule|GatewayFile|Limits)$/;

/** The options of every entry, and the interfaces that they extend, by file and name. */
function publicOptions(): Map<string, Shape> {
  const found = new Map<string, Shape>();
  const visit = (file: string, name: string): void => {
    const place = declarationOf(file, name) ?? { file, name };
    const key = `${place.file} ${place.name}`;
    const source = readFileSync(join(root, place.file), "utf8");
    const shape = shapeOf(source, place.name);
    if (shape === undefined || found.has(key)) return;
    found.set(key, shape);
    for (const part of shape.parts) {
      const from = importsOf(source).get(part);
      visit(from === undefined ? place.file : join(dirname(place.file), from), part);
    }
  };
  for (const source of new Set(entries.flatMap(({ sources }) => sources))) {
    const text = readFileSync(join(root, source), "utf8");
    const own = Array.from(text.matchAll(/^export interface (\w+)/gm), ([, name = ""]) => name);
    const names = [...own, ...exportsOf(text).map(({ exported }) => exported)];
    for (const name of names.filter((each) => settings.test(each))) visit(source, name);
  }
  return found;
}

/** Reads an interface, or the names in an alias such as `Omit<A, "b"> & C`. It relies on the formatter. */
function shapeOf(source: string, name: string): Shape | undefined {
  const written = new RegExp(
    `^(?:export )?(?:interface ${name}\\b([^{]*)\\{(?:\\}|\\n([\\s\\S]*?)^\\})|type ${name} =([^;]*);)`,
    "m",
  ).exec(source);
  if (written === null) return undefined;
  const [, heritage = "", body = "", alias = ""] = written;
  const parts = Array.from(`${heritage} ${alias}`.matchAll(/\b[A-Z]\w+/g), ([part]) => part);
  return { members: membersOf(body), parts };
}

function membersOf(body: string): Member[] {
  const member =
    /^( {2}\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)? {2}(?:readonly )?([\w$]+|"[^"]+"|\[[^\]]+\])(\?: (?:number|boolean)\b)?\??[:(<| ;]/gm;
  return Array.from(body.matchAll(member), ([, comment = "", name = "", optional]) => ({
    name,
    isDocumented: /^[\s/*]*[^\s/*@]/.test(comment),
    hasDefault: optional === undefined || comment.includes("@default"),
  }));
}

function importsOf(source: string): Map<string, string> {
  const imports = source.matchAll(/^import (?:type )?\{([^}]*)\} from "(\..+?)";/gm);
  return new Map(
    Array.from(imports).flatMap(([, names = "", from = ""]) =>
      names.split(",").map((name) => [name.trim().replace(/^type /, ""), from] as const),
    ),
  );
}

const members = Array.from(publicOptions(), ([place, shape]) =>
  shape.members.map((member) => ({ ...member, place: `${place}.${member.name}` })),
).flat();

test("every setting of a public options interface says what it does", () => {
  // Fewer would mean that the scan misses some.
  expect(members.length).toBeGreaterThan(300);
  expect(members.filter(({ isDocumented }) => !isDocumented).map(({ place }) => place)).toEqual([]);
});

test("every number and flag that may be left out states its default", () => {
  expect(members.filter(({ hasDefault }) => !hasDefault).map(({ place }) => place)).toEqual([]);
});
