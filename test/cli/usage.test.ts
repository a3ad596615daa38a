import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manifest } from "../entries.ts";
import { isFull } from "../full.ts";
import { build, finish } from "./process.ts";

let folder: string;
const taken = createServer();
let takenPort: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-cli-"));
  await build();
  const modules = {
    "throws.js": `throw new Error("first line\\nsecond line");`,
    "throws.ts": `const text: string = "no"; throw new Error(text);`,
    "syntax.js": "export const methods = {;",
    "syntax.ts": "export const methods: = {;",
    "imports.js": `import "./is-not-there.js";`,
    "nothing.js": "export const other = 1;",
    "text.js": `export default "methods";`,
    "null.js": "export default null;",
    "list.js": "export const methods = [() => 1];",
    "empty.js": "export const methods = {};",
    "number.js": "export const methods = { answer: 42 };",
    "reserved.js": `export const methods = { "rpc.mine": () => 1 };`,
    "object.js": `throw { why: "no" };`,
    "getter.js": `export const methods = { get add() { throw new Error("no getter"); } };`,
    "proxy.js": `export default new Proxy({}, { ownKeys() { throw new Error("no keys"); } });`,
    "fine.js": "export const methods = { hello: () => 1 };",
  };
  for (const [name, source] of Object.entries(modules)) {
    await writeFile(join(folder, name), source);
  }
  await writeFile(join(folder, "package.json"), `{ "type": "module" }`);
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  takenPort = (taken.address() as { port: number }).port;
});

afterAll(async () => {
  taken.close();
  await rm(folder, { recursive: true, force: true });
});

describe("help", () => {
  test.each([[[]], [["--help"]], [["-h"]], [["help"]]])(
    "callwire %j lists the commands",
    async (args) => {
      const { code, stdout, stderr } = await finish(args);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(stdout).toMatch(/^ {2}demo {2}/m);
      expect(stdout).toMatch(/^ {2}serve {2}/m);
    },
  );

  test.each(["demo", "serve"])(
    "callwire %s --help shows its options and an example",
    async (verb) => {
      const { code, stdout, stderr } = await finish([verb, "--help"]);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: callwire ${verb}`);
      expect(stdout).toMatch(/--port <number> +\S/);
      expect(stdout).toMatch(new RegExp(`Examples?:\\n +# .+\\n +callwire ${verb}`));
    },
  );

  test("callwire help <command> shows the same", async () => {
    expect(await finish(["help", "call"])).toEqual(await finish(["call", "--help"]));
    const { code, stderr } = await finish(["help", "cal"]);
    expect(stderr).toMatch(/unknown command "cal"; did you mean "call"\?/);
    expect(code).toBe(2);
  });

  test.each(["--version", "-v"])("callwire %s", async (flag) => {
    const { version } = manifest as unknown as { version: string };
    expect(await finish([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

/** Mistakes that are found in the same place as others. */
const otherForms: [args: string[], line: RegExp][] = [
  [["batsch"], /did you mean "batch"\?/],
  [["demo", "--port=-1"], /--port must be an integer between 0 and 65535, not "-1"/],
  [["demo", "--port", "http"], /--port must be an integer between 0 and 65535, not "http"/],
  [["demo", "--port", ""], /--port must be an integer between 0 and 65535/],
  [["demo", "--tcp", "x"], /--tcp must be an integer between 0 and 65535/],
  [["demo", "--stdio", "--tcp", "0", "--host", " "], /--host needs a value/],
  [["demo", "--hosts", ","], /--hosts must be "any" or names/],
  [["demo", "--origins", "https://a.example/x"], /--origins must be origins/],
  [["serve", "throws.js"], /throws\.js could not be loaded: first line second line/],
  [["serve", "syntax.js"], /syntax\.js could not be loaded/],
  [["serve", "text.js"], /text\.js must be methods or a server/],
  [["serve", "null.js"], /null\.js must be methods or a server/],
  [["serve", "fine.js", "--path", "/readyz/"], /--path \/readyz\/ is reserved for health checks/],
  [["keys", "create", "--id", "a", "--principal", " "], /--principal needs a value/],
];

function otherSenders(url: string): string[][] {
  return [
    ["inspect", url],
    ["batch", url, "fine.js"],
    ["playground", url],
  ];
}

describe("a mistake is reported in one line, with exit code 2", () => {
  test.each<[args: string[], line: RegExp]>([
    [["dance"], /unknown command "dance"/],
    [["--dance"], /unknown option "--dance"/],
    [["dmeo"], /unknown command "dmeo"; did you mean "demo"\? See "callwire --help"/],
    [["call", "--time", "1"], /unknown option --time; see|did you mean --timeout/],
    [["toString"], /unknown command "toString"/],
    [
      ["demo", "--prot", "1"],
      /unknown option --prot; did you mean --port\? See "callwire demo --help"/,
    ],
    [["demo", "--port"], /--port needs a value/],
    [["demo", "--port", "-1"], /--port must be an integer between 0 and 65535, not "-1"/],
    [["demo", "--port", "65536"], /--port must be an integer between 0 and 65535/],
    [["demo", "--stdio=yes"], /--stdio does not take a value/],
    [["demo", "--framing", "xml"], /--framing must be newline, content-length/],
    // The address of no machine, so that no name server is asked.
    [["demo", "--host", "192.0.2.1"], /192\.0\.2\.1/],
    [["demo", "--host", ""], /--host needs a value/],
    [["demo", "--unix", ""], /--unix needs a value/],
    [
      ["demo", "--hosts", "http://x"],
      /--hosts must be "any" or names such as .*, not "http:\/\/x"/,
    ],
    [
      ["demo", "--origins", "app.example"],
      /--origins must be origins such as .*, not "app\.example"/,
    ],
    [["demo", "extra"], /unexpected argument "extra"/],
    [
      ["record", "http://127.0.0.1:1", "--to", "x.jsonl", "--port", ""],
      /--port must be an integer/,
    ],
    [
      ["record", "http://a:b@127.0.0.1:1", "--to", "x.jsonl"],
      /credentials in the address are not sent/,
    ],
    [
      ["replay", "fine.js", "http://127.0.0.1:1", "--timeout", "1e3"],
      /--timeout must be a time such as/,
    ],
    ...["http://127.0.0.1:1", "ws://127.0.0.1:1"].flatMap((url): [string[], RegExp][] =>
      [["call", url, "add"], ...(isFull ? otherSenders(url) : [])].map((args) => [
        [...args, "-H", "x-price: 5 €"],
        /the header x-price contains characters/,
      ]),
    ),
    ...(isFull ? otherForms : []),
    [
      ["mcp", "http://127.0.0.1:1", "tools", "--bearer", "a\nb"],
      /the header authorization contains/,
    ],
    [["demo", "--unix", "/nowhere/at/all.sock"], /\/nowhere\/at\/all\.sock/],
    [["serve"], /serve needs a module/],
    [["serve", "missing.js"], /no such module: missing\.js\n$/],
    [["serve", "fine"], /no such module: fine; did you mean "fine\.js"\?/],
    [["serve", "missing.js", "--workers", "auto"], /^callwire: no such module: missing\.js\n$/],
    [
      ["serve", "package.json"],
      /package\.json is not a module; .*: callwire gateway package\.json/,
    ],
    [["serve", "."], /is not a file/],
    [["serve", "fine.js", "nothing.js"], /unexpected argument "nothing\.js"/],
    [["serve", "fine.js", "--path", "rpc"], /--path must begin with "\/"/],
    [["serve", "throws.ts"], /throws\.ts could not be loaded: no/],
    [["serve", "syntax.ts"], /syntax\.ts could not be loaded/],
    [["serve", "imports.js"], /imports\.js could not be loaded: .*is-not-there/],
    [["serve", "nothing.js"], /nothing\.js does not export "methods", a default/],
    [["serve", "list.js"], /list\.js must be methods or a server/],
    [["serve", "empty.js"], /empty\.js does not export methods/],
    [["serve", "number.js"], /number\.js cannot be served: "answer" is neither/],
    [["serve", "object.js"], /object\.js could not be loaded: \{"why":"no"\}/],
    [["serve", "getter.js"], /getter\.js: its exports cannot be read: no getter/],
    [["serve", "proxy.js"], /proxy\.js: its exports cannot be read: no keys/],
    [["serve", "fine.js", "--path", "/healthz"], /--path \/healthz is reserved for health checks/],
    [
      ["serve", "fine.js", "--path", "/metrics", "--metrics"],
      /--path \/metrics is reserved for --metrics/,
    ],
    [["serve", "fine.js", "--framing", "newline"], /--framing needs --tcp, --unix or --stdio/],
    [["serve", "fine.js", "--stdio", "--host", "::1"], /--host needs HTTP or TCP/],
    [["keys", "create", "--id", ""], /--id needs a value/],
    [["audit", "http://a:b@127.0.0.1:1"], /audit connects anonymously/],
    [
      ["gateway", "--to", "ws://127.0.0.1:1", "--to-framing", "newline"],
      /not work with ws: addresses/,
    ],
    [["serve", "reserved.js"], /reserved\.js cannot be served: .*reserved/],
  ])("callwire %j", async (args, line) => {
    const { code, stdout, stderr } = await finish(args, { cwd: folder });
    expect(stderr).toMatch(line);
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });

  test.each(["--port", "--tcp"])("a taken %s", async (flag) => {
    const args = ["demo", "--port", "0", flag, String(takenPort)];
    const { code, stdout, stderr } = await finish(args);
    expect(stderr).toMatch(new RegExp(`^callwire: .*${takenPort} is in use; .*${flag}\n$`));
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});
