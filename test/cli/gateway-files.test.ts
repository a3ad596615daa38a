import { writeFile } from "node:fs/promises";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { builtWithFolder } from "./folder.ts";
import { cli, finish, start } from "./process.ts";

const inFolder = builtWithFolder();

test.each([
  ["5", "use: must be an array of middleware"],
  ["[(next) => next, 5]", "use.1: must be a middleware function"],
])("a module whose use is %s is refused in one line", async (use, sentence) => {
  const path = inFolder("use.mjs");
  const rest = `upstreams: { a: { url: "http://127.0.0.1:1" } }, routes: [{ method: "*", to: "a" }]`;
  await writeFile(path, `export default { ${rest}, use: ${use} };`);
  const { code, stderr } = await finish(["gateway", path, "--port", "0"]);
  expect(stderr).toBe(`callwire: ${path}: ${sentence}\n`);
  expect(code).toBe(2);
});

test("a config may begin with a byte order mark", async () => {
  const server = createServer({ who: () => "here" });
  const { url } = await serveHttp(server, { port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const path = inFolder("marked.json");
  const file = { upstreams: { a: { url } }, routes: [{ method: "*", to: "a" }] };
  await writeFile(path, `\uFEFF${JSON.stringify(file)}`);
  await using gateway = start(["gateway", path, "--port", "0"]);
  const [address] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
  expect(await createClient(httpLink(address)).call("who")).toBe("here");
});

test("an upstream may have its own framing, in a config and with --to", async () => {
  const url = `stdio:${process.execPath} ${cli} demo --stdio --framing content-length`;
  const path = inFolder("framed.json");
  const upstreams = { tool: { url, framing: "content-length" } };
  await writeFile(path, JSON.stringify({ upstreams, routes: [{ method: "*", to: "tool" }] }));
  for (const args of [[path], ["--to", url, "--to-framing", "content-length"]]) {
    await using gateway = start(["gateway", ...args, "--port", "0"]);
    const [address] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
    expect(await createClient(httpLink(address)).call("math/add", { a: 2, b: 3 })).toBe(5);
  }
  const { code, stderr } = await finish(["gateway", "--to", url, "--to-framing", "none"]);
  expect(stderr).toBe(
    'callwire: --to-framing must be newline, content-length or length-prefix, not "none"\n',
  );
  expect(code).toBe(2);
});

test("a module that hangs when it is read again holds up no other", async () => {
  const path = inFolder("hangs.mjs");
  const text = `export default { upstreams: { a: { url: "http://127.0.0.1:1" } }, routes: [{ method: "*", to: "a" }] };`;
  await writeFile(path, text);
  await using gateway = start(["gateway", path, "--port", "0"]);
  await gateway.shown(/Ctrl-C to stop/);
  await writeFile(path, `console.log("it begins"); await new Promise(() => {}); ${text}`);
  gateway.child.kill("SIGHUP");
  await gateway.shown(/it begins/, "stderr");
  await writeFile(path, text);
  gateway.child.kill("SIGHUP");
  await gateway.shown(/reloaded \S*hangs\.mjs/, "stderr");
  expect(gateway.stderr).toMatch(
    /could not be loaded: another reload began .*kept the previous config/,
  );
});

test("a name that is misspelt is reported, and not the one that is then missing", async () => {
  const path = inFolder("misspelt.json");
  const file = { upstreams: { a: { url: "http://127.0.0.1:1" } }, route: [] };
  await writeFile(path, JSON.stringify(file));
  const { stderr } = await finish(["gateway", path, "--port", "0"]);
  expect(stderr).toBe(`callwire: ${path}:1: route: unknown setting\n`);
});
