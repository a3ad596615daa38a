/** The lines that the help shows work when they are pasted. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../entries.ts";
import { isFull } from "../full.ts";
import { build, cli, environment, finish, type Process, startDemo } from "./process.ts";

const verbs = [
  "call",
  "notify",
  "batch",
  "stream",
  "repl",
  "bench",
  "inspect",
  "discover",
  "mcp",
  "conform",
];

let folder: string;
let demo: Process & { readonly origin: string };

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-examples-"));
  const command = join(folder, "callwire");
  await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`);
  await chmod(command, 0o755);
  demo = await startDemo();
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The same with a shorter duration, and with more time for a server on a busy machine. */
function hurried(line: string): string {
  if (!line.startsWith("callwire conform ")) {
    return line
      .replace(/\b3s\b/, "100ms")
      .replace("-n 1000", "-n 20")
      .replace("ms=2000", "ms=20");
  }
  const all = isFull || line.includes(" --group ");
  return `${line} --timeout 30s${all ? "" : " --group core"}`;
}

function paste(line: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const { host } = new URL(demo.origin);
  const own = line.replaceAll("localhost:8000", host);
  const env = { ...environment, PATH: `${folder}:${process.env.PATH}`, XDG_STATE_HOME: folder };
  return new Promise((resolve) => {
    const child = execFile("sh", ["-c", own], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
    child.stdin?.end();
  });
}

test.each(verbs)(
  "the examples of callwire %s --help",
  async (verb) => {
    const { stdout: help } = await finish([verb, "--help"]);
    const [, examples = ""] = help.split(/\nExamples?:\n/);
    const lines = examples.split("\n").filter((line) => line !== "" && !/^ +# /.test(line));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const { code, stdout, stderr } = await paste(hurried(line.trim()));
      // One of the batches shows an error on purpose.
      expect({ line, code, stderr }).toMatchObject({ code: line.includes("nope") ? 1 : 0 });
      expect(stderr).not.toMatch(/^callwire: /m);
      // Notifications have no answer, and a session without lines prints nothing.
      const isQuiet = verb === "notify" || line.includes(" > ") || /^ +callwire repl/.test(line);
      expect(stdout === "").toBe(isQuiet);
    }
  },
  60_000,
);

/** A line of docs/cli.md and the output below it. */
interface Shown {
  readonly line: string;
  readonly output: string;
}

async function shownInDocs(): Promise<Shown[]> {
  const text = await readFile(join(root, "docs", "cli.md"), "utf8");
  return Array.from(text.matchAll(/^```\n(\$ [\s\S]*?)^```$/gm), ([, block = ""]) => block)
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((part) => {
      const end = part.indexOf("\n");
      return { line: part.slice(0, end), output: part.slice(end + 1) };
    });
}

test("docs/cli.md shows what the commands show", async () => {
  const shown = await shownInDocs();
  // Times, and lines that are typed or overwritten, differ each time.
  const steady = shown.filter(({ line }) => !/--verbose|slow\/work|bench|repl/.test(line));
  expect(steady.length).toBeGreaterThan(4);
  for (const { line, output } of steady) {
    const { stdout, stderr } = await paste(line);
    const { host } = new URL(demo.origin);
    const own = (stdout + stderr).replaceAll(host, "localhost:8000");
    const timeless = (text: string): string => text.replace(/\d+ messages.*/, "");
    expect(timeless(own)).toBe(timeless(output));
  }
});

test("--version and --help load no command and nothing of the package", async () => {
  const loaded = new Set([cli]);
  for (const file of loaded) {
    const text = await readFile(file, "utf8");
    const imports = text.matchAll(
      /(?:^|;|\n)import\s*(?:[\w$*{][^"';]*?from\s*)?["']([^"']+)["']/g,
    );
    for (const [, specifier = ""] of imports) {
      if (specifier.startsWith(".")) loaded.add(join(dirname(file), specifier));
      else expect(specifier).toMatch(/^node:/);
    }
  }
  const all = await readdir(dirname(cli));
  expect(loaded.size).toBeLessThan(all.length / 2);
});
