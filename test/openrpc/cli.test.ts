import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, cli, finish, startDemo } from "../cli/process.ts";
import { ownPort } from "../own-port.ts";
import { faultsOf } from "./validity.ts";

let demo: Awaited<ReturnType<typeof startDemo>>;
let folder: string;
let tcp: string;
let other: Server;
let otherUrl: string;

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-openrpc-"));
  demo = await startDemo(["--tcp", "0", "--unix", join(folder, "demo.sock")]);
  [tcp = ""] = (await demo.shown(/127\.0\.0\.1:\d+(?= +newline)/)) ?? [];
  await writeFile(join(folder, "broken.json"), "{");
  await writeFile(join(folder, "other.json"), "{}");
  other = createServer((request, response) => {
    const reply =
      request.url === "/none"
        ? '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}'
        : "<html>";
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" }).end(reply);
    });
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  otherUrl = `http://127.0.0.1:${(other.address() as { port: number }).port}`;
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
  await new Promise((resolve) => other.close(resolve));
});

describe("discover", () => {
  test("prints the same valid document over every wire", async () => {
    const urls = [
      `${demo.origin}/rpc`,
      `${demo.origin.replace("http", "ws")}/rpc/ws`,
      `tcp://${tcp}`,
      `unix:${join(folder, "demo.sock")}`,
      `stdio:${process.execPath} "${cli}" demo --stdio`,
    ];
    const texts = new Set<string>();
    for (const url of urls) {
      const { code, stdout } = await finish(["discover", url]);
      expect(code, url).toBe(0);
      texts.add(stdout);
    }
    expect(texts.size).toBe(1);
    const document = JSON.parse([...texts][0] as string);
    expect(faultsOf(document)).toEqual([]);
    expect(document.methods.length).toBeGreaterThan(15);
  });

  test("--json is what it prints already", async () => {
    const plain = await finish(["discover", `${demo.origin}/rpc`]);
    expect(await finish(["discover", `${demo.origin}/rpc`, "--json"])).toEqual(plain);
  });

  test("prints reference docs and a page", async () => {
    const markdown = await finish(["discover", `${demo.origin}/rpc`, "--markdown"]);
    expect(markdown).toMatchObject({ code: 0, stderr: "" });
    expect(markdown.stdout).toContain("### `math/sqrt`");
    const html = await finish(["discover", `${demo.origin}/rpc`, "--html"]);
    expect(html).toMatchObject({ code: 0, stderr: "" });
    expect(html.stdout).toMatch(/^<!doctype html>/);
  });
});

describe("generate", () => {
  test("writes clients from an address and from a file, the same each time", async () => {
    const file = join(folder, "openrpc.json");
    // Some editors start a file with a byte order mark.
    await writeFile(file, `\uFEFF${(await finish(["discover", `${demo.origin}/rpc`])).stdout}`);
    for (const [name, start, language] of [
      ["client.ts", "// Made by", "TypeScript"],
      ["client.py", '"""Made by', "Python"],
    ] as const) {
      const path = join(folder, name);
      expect(await finish(["generate", `${demo.origin}/rpc`, "-o", path])).toEqual({
        code: 0,
        stdout: "",
        stderr: `callwire: wrote ${path}, a client in ${language} for 21 methods\n`,
      });
      const written = await readFile(path, "utf8");
      expect(written.startsWith(start)).toBe(true);
      const lang = name === "client.py" ? "python" : "ts";
      const { stdout } = await finish(["generate", file, "--lang", lang]);
      expect(stdout).toBe(written);
    }
  });
});

describe("what goes wrong is reported in one line", () => {
  test.each<[code: number, args: () => string[] | Promise<string[]>, line: RegExp]>([
    [2, () => ["discover"], /discover needs an address/],
    [2, () => ["discover", "a", "b"], /unexpected argument "b"/],
    [
      2,
      () => ["discover", "a", "--html", "--markdown"],
      /--markdown and --html cannot be combined/,
    ],
    [2, () => ["discover", "ftp://x"], /no such file, and not an address/],
    [2, () => ["discover", "tcp://nowhere"], /is not an address/],
    [2, () => ["discover", "unix:"], /is not an address/],
    [2, () => ["discover", "stdio:"], /is not an address/],
    [2, () => ["discover", "http://x", "-H", "nonsense"], /--header must be "name: value"/],
    [2, () => ["discover", "http://x", "--timeout", "soon"], /--timeout must be a time such as/],
    [2, () => ["generate"], /generate needs an address/],
    [
      2,
      () => ["generate", "x.json", "--lang", "cobol"],
      /--lang must be ts or python, not "cobol"/,
    ],
    [
      2,
      () => ["generate", `${demo.origin}/rpc`, "-o", "client.go"],
      /client\.go must end in \.ts, \.mts, \.cts or \.py; or name the language with --lang/,
    ],
    [2, () => ["generate", `${demo.origin}/rpc`, "-o", "."], /\. must end in \.ts/],
    [2, () => ["generate", "missing.json"], /missing\.json: no such file/],
    [2, () => ["generate", "broken.json"], /broken\.json: invalid JSON/],
    [2, () => ["generate", "other.json"], /not an OpenRPC document/],
    [2, () => ["generate", `${demo.origin}/rpc`, "-o", "no/where/client.ts"], /cannot be written/],
    [
      1,
      () => ["discover", `${otherUrl}/none`],
      /answered -32601 Method not found; the server does not support rpc\.discover/,
    ],
    [1, () => ["discover", `${otherUrl}/html`], /./],
    [3, async () => ["discover", `http://127.0.0.1:${await ownPort()}/rpc`], /ECONNREFUSED/],
    [3, async () => ["discover", `ws://127.0.0.1:${await ownPort()}/rpc`], /ECONNREFUSED/],
    [3, async () => ["generate", `tcp://127.0.0.1:${await ownPort()}`], /ECONNREFUSED/],
    [3, () => ["discover", "unix:/nowhere/at/all.sock"], /ENOENT/],
    [3, () => ["discover", "stdio:/nowhere/at/all"], /ENOENT/],
  ])("exit code %i (%#)", async (expected, args, line) => {
    const { code, stdout, stderr } = await finish(await args(), { cwd: folder });
    expect(stderr).toMatch(line);
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(expected);
  });
});
