/**
 * The programs in pages and doc comments compile, and the numbers that pages claim are compared
 * with the code.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { defaultLimits } from "callwire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entries, root } from "../entries.ts";
import { type Declaration, declarationOf, examplesIn } from "./declarations.ts";

const run = promisify(execFile);
const folder = join(root, ".cache", `docs-${process.pid}`);

interface Page {
  readonly name: string;
  readonly text: string;
}

interface PublicValue extends Declaration {
  /** The entry that exports it, relative to the root. */
  readonly entry: string;
  /** A function or a class. */
  readonly isFunction: boolean;
}

let pages: readonly Page[];
/** Every value that a program can import; one that differs between runtimes occurs twice. */
let values: readonly PublicValue[];

beforeAll(async () => {
  values = await publicValues();
  await mkdir(folder, { recursive: true });
  const docs = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"));
  const names = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    ...docs.map((name) => `docs/${name}`),
  ];
  pages = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(root, name), "utf8") })),
  );
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function publicValues(): Promise<PublicValue[]> {
  const found: PublicValue[] = [];
  for (const entry of new Set(entries.flatMap(({ sources }) => sources))) {
    const exported: object = await import(/* @vite-ignore */ join(root, entry));
    for (const [name, value] of Object.entries(exported)) {
      const declaration = declarationOf(entry, name);
      if (declaration === undefined) throw new Error(`${entry}: ${name} is not declared anywhere`);
      found.push({ ...declaration, entry, isFunction: typeof value === "function" });
    }
  }
  return found;
}

function blocks({ text }: Page, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return Array.from(text.matchAll(fence), ([, code = ""]) => code);
}

/** Names that pages use after they have introduced them. */
const prelude = `
  import type { Api, Client, Server } from "callwire";
  import type { methods as quickstart } from "../../examples/quickstart/methods.ts";
  declare global {
    const methods: typeof quickstart;
    const server: Server<typeof quickstart>;
    const client: Client<typeof quickstart>;
    const api: Api<typeof quickstart>;
  }
`;

/** What programs use of frameworks that are not installed here. */
const frameworks = `
  declare module "@sveltejs/kit" {
    export interface RequestEvent {
      readonly request: Request;
      readonly locals: { readonly user?: { readonly id: string } };
      getClientAddress(): string;
    }
    export type ServerLoadEvent = RequestEvent;
  }
  declare module "react-router" {
    export interface LoaderFunctionArgs {
      readonly request: Request;
    }
    export type ActionFunctionArgs = LoaderFunctionArgs;
  }
`;

test("every program in the pages and in doc comments compiles", async () => {
  await writeFile(join(folder, "prelude.d.ts"), prelude);
  await writeFile(join(folder, "frameworks.d.ts"), frameworks);
  let count = 0;
  // The programs of the README are complete, see readme.test.ts.
  for (const page of pages.filter(({ name }) => name !== "README.md")) {
    for (const [i, code] of blocks(page, "ts").entries()) {
      const name = `${page.name.replaceAll(/\W/g, "-")}-${i}.ts`;
      // The pages are one folder deep, and the copies two.
      await writeFile(join(folder, name), code.replaceAll('"../examples/', '"../../examples/'));
      count++;
    }
  }
  expect(count).toBeGreaterThan(20);
  for (const { name, file, comment } of values) {
    for (const [i, code] of examplesIn(comment).entries()) {
      await writeFile(join(folder, `${file.replaceAll(/\W/g, "-")}-${name}-${i}.ts`), code);
    }
  }
  const config = { extends: "../../tsconfig.json", include: ["."] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const options = { cwd: folder };
  const { stdout } = await run(process.execPath, [tsc, "-p", "."], options).catch((error) => error);
  // Errors in the sources, which are compiled with them, are found by the type check.
  const faults = String(stdout)
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith(".."));
  expect(faults).toEqual([]);
});

/** Programs get these from a function that has an example. */
const withoutExample: Readonly<Record<string, string>> = {
  Gateway: "createGateway makes it",
  HttpServer: "serveHttp makes it",
  McpTask: "McpClient.beginTool makes it",
  MemoryNonces: "memoryNonces makes it",
  Origin: "each wire makes it; its name is a type to programs",
};

test("every public function and class has an example that uses it", () => {
  const bare = values.filter(
    ({ name, isFunction, comment }) =>
      isFunction && !examplesIn(comment).some((code) => code.includes(name)),
  );
  const names = new Set(bare.map(({ name }) => name));
  expect([...names].sort()).toEqual(Object.keys(withoutExample).sort());
});

test("every entry of the package has an example", () => {
  const shown = values.filter(({ comment }) => examplesIn(comment).length > 0);
  const all = new Set(values.map(({ entry }) => entry));
  expect(new Set(shown.map(({ entry }) => entry))).toEqual(all);
});

describe("links", () => {
  test("every link to a file leads somewhere", () => {
    const broken = pages.flatMap(({ name, text }) =>
      Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target)
        .filter((target) => !/^https?:/.test(target))
        .filter((target) => {
          const path = join(root, dirname(name), target.replace(/#.*$/, ""));
          return !existsSync(path);
        })
        .map((target) => `${name}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test("every link to a heading leads to one", () => {
    const headings = new Map(pages.map(({ name, text }) => [name, anchorsIn(text)]));
    const broken = pages.flatMap(({ name, text }) =>
      Array.from(
        withoutCode(text).matchAll(/\]\(([^)\s]*)#([^)\s]+)\)/g),
        ([, file = "", anchor = ""]) => ({
          page: file === "" ? name : join(dirname(name), file),
          from: name,
          anchor,
        }),
      ).filter(({ page, anchor }) => headings.get(page)?.has(anchor) === false),
    );
    expect(broken).toEqual([]);
  });

  test("a name beside its file in the table of CONTRIBUTING.md is in that file", async () => {
    const { text } = pages.find(({ name }) => name === "CONTRIBUTING.md") as Page;
    const cells = text
      .split("\n")
      .flatMap((line) => (line.startsWith("| ") ? [line.split("|")[2]] : []));
    const pairs = cells.flatMap((cell = "") =>
      Array.from(
        cell.matchAll(/`(\w+)` (?:\([^)]*\) )?in `(src\/[\w./-]+)`/g),
        ([, name = "", file = ""]) => ({
          name,
          file,
        }),
      ),
    );
    expect(pairs.length).toBeGreaterThan(5);
    for (const { name, file } of pairs)
      expect(await readFile(join(root, file), "utf8"), `${file} has no ${name}`).toContain(name);
  });

  test("every file that is named as code exists", () => {
    const named = pages.flatMap(({ name, text }) =>
      Array.from(
        text.matchAll(/`((?:src|test|scripts|examples|docs)\/[\w./-]+\.\w+)`/g),
        ([, path = ""]) => ({
          name,
          path,
        }),
      ),
    );
    expect(named).not.toHaveLength(0);
    expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test.each(Object.entries(defaultLimits))("docs/limits.md says that %s is %i", (name, value) => {
  const mebi = 1024 * 1024;
  const written = value % mebi === 0 ? `${value / mebi} MiB` : value.toLocaleString("en-US");
  const { text = "" } = pages.find((page) => page.name === "docs/limits.md") ?? {};
  const rows = text.replaceAll(/ +\|/g, " |");
  expect(rows).toContain(`| \`${name}\` | ${written} |`);
});

/** The anchors of the headings of a page, as GitHub and the docs site make them. */
function anchorsIn(text: string): ReadonlySet<string> {
  const headings = withoutCode(text).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    Array.from(headings, ([, heading = ""]) =>
      heading
        .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
        .toLowerCase()
        .replace(/[^\p{Letter}\p{Number}_ -]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```.*?^```$/gms, "");
}
