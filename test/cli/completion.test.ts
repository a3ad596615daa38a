import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith, pathOf } from "../services.ts";
import { builtWithFolder } from "./folder.ts";
import { cli, environment, finish, type Process, startDemo } from "./process.ts";

const run = promisify(execFile);
let demo: Process & { readonly origin: string };
let env: Record<string, string>;

const inFolder = builtWithFolder();

beforeAll(async () => {
  demo = await startDemo();
  const config = inFolder("config.json");
  const servers = { prod: { url: `${demo.origin}/rpc` }, preview: { url: "tcp://10.0.0.1:1" } };
  await writeFile(config, JSON.stringify({ servers }));
  env = { CALLWIRE_CONFIG: config };
});

afterAll(() => demo?.[Symbol.asyncDispose]());

/** The completions at the end of a line. */
async function words(line: string): Promise<string[]> {
  const { stdout } = await finish(["completion", "words", "--", line], { env });
  return stdout.split("\n").flatMap((each) => (each === "" ? [] : [each.split("\t")[0] as string]));
}

describe("completed words", () => {
  test.each([
    ["a command", "callwire desc", ["describe"]],
    ["an option", "callwire call --ca", ["--cacert"]],
    ["no option that was given", "callwire call --cacert ca.pem --cacert", []],
    ["an option that may be repeated", "callwire call -H a:b --hea", ["--header"]],
    ["the values of an option", "callwire serve a.ts --log ", ["json", "pretty"]],
    ["a value after an equals sign", "callwire serve a.ts --log=j", ["--log=json"]],
    ["files for the value of another option", "callwire call --cacert ", []],
    ["named servers", "callwire call @p", ["@prod", "@preview"]],
    ["the methods of a named server", "callwire call @prod math/s", ["math/subtract", "math/sqrt"]],
    [
      "methods after options",
      "callwire call -H 'a: b c' --json @prod math/ad",
      ["math/add", "math/add_stream"],
    ],
    ["requests", "callwire mcp http://a re", ["resources", "read"]],
    ["a word that stands for itself", "callwire keys c", ["create"]],
    ["shells", "callwire completion z", ["zsh"]],
    ["nothing for an unknown command", "callwire nope ", []],
    [
      "nothing for a method of a program, which is not started",
      'callwire call "stdio:callwire demo" ',
      [],
    ],
    ["nothing for params", "callwire call @prod math/add ", []],
  ])("%s", async (_, line, expected) => {
    expect(await words(line)).toEqual(expected);
  });

  test("have what they are for beside them", async () => {
    const { stdout } = await finish(["completion", "words", "--", "callwire call @prod math/ad"], {
      env,
    });
    expect(stdout.split("\n")[0]).toBe("math/add\tAdd two numbers");
  });

  test("are none without a file of named servers", async () => {
    const missing = { CALLWIRE_CONFIG: inFolder("missing.json") };
    const { code, stdout } = await finish(["completion", "words", "--", "callwire call @p"], {
      env: missing,
    });
    expect([code, stdout]).toEqual([0, ""]);
  });
});

test("there is a script for each shell", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await finish(["completion", shell]);
    expect(stdout).toContain("completion words");
  }
  expect((await finish(["completion", "tcsh"])).stderr).toContain("must be bash, zsh or fish");
});

describeWith(["bash"], "in bash", () => {
  test.each([
    ["desc", "desc", "describe"],
    ["call --ca", "--ca", "--cacert"],
    // Bash breaks words at @, : and =, and replaces only the rest.
    ["call @pre", "pre", "preview"],
    ["serve a.ts --log=j", "j", "json"],
  ])("callwire %s is completed", async (words, last, expected) => {
    const { stdout: script } = await finish(["completion", "bash"]);
    const line = `callwire ${words}`;
    const ask = `callwire() { "${process.execPath}" "${cli}" "$@"; }
${script}
COMP_LINE="${line}"; COMP_POINT=${line.length}; _callwire callwire "${last}"; echo "\${COMPREPLY[*]}"`;
    const { stdout } = await run(pathOf("bash"), ["-c", ask], { env: { ...environment, ...env } });
    expect(stdout).toBe(`${expected}\n`);
  });
});
