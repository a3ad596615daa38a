import { execFile, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { describeWith, pathOf } from "../services.ts";
import { builtWithFolder } from "./folder.ts";
import { finish, type Process, start } from "./process.ts";

const inFolder = builtWithFolder();
const run = promisify(execFile);

async function serve(...flags: string[]): Promise<Process & { readonly url: string }> {
  const module = inFolder("methods.mjs");
  await writeFile(module, "export const one = () => 1;");
  const served = start(["serve", module, "--port", "0", ...flags]);
  onTestFinished(() => served[Symbol.asyncDispose]());
  const [url] = await served.shown(/https?:\/\/127\.0\.0\.1:\d+\/rpc/);
  return Object.assign(served, { url });
}

test("--api-keys takes the records that keys create prints", async () => {
  const { stdout } = await finish(["keys", "create", "--id", "ci", "--json"]);
  const { secret, record } = JSON.parse(stdout);
  const file = inFolder("keys.json");
  await writeFile(file, JSON.stringify([record]));
  const { url } = await serve("--api-keys", file);
  expect((await finish(["call", url, "one"])).stderr).toContain("-32001");
  const known = await finish(["call", url, "one", "-H", `x-api-key: ${secret}`]);
  expect(known.stdout).toBe("1\n");
});

test("--rate-limit refuses the calls beyond it", async () => {
  const { url } = await serve("--rate-limit", "1/m");
  const body = '{"jsonrpc":"2.0","method":"one","id":1}';
  const headers = { "content-type": "application/json" };
  const ask = () => fetch(url, { method: "POST", headers, body });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
});

test.each([
  [["--rate-limit", "many"], /--rate-limit must be a rate such as 100\/s/],
  [["--tls-cert", "x.pem"], /--tls-cert and --tls-key need each other/],
  [["--tls-cert", "no.pem", "--tls-key", "no.pem"], /--tls-cert: no such file: no\.pem$/m],
  [["--jwks", "https://x/jwks"], /--jwks needs --jwt-issuer and --jwt-audience/],
  [["--api-keys", "no.json"], /no\.json/],
])("%j is a mistake", async (flags, line) => {
  const module = inFolder("fine.mjs");
  await writeFile(module, "export const one = () => 1;");
  const { code, stderr } = await finish(["serve", module, "--port", "0", ...flags]);
  expect(stderr).toMatch(line);
  expect(code).toBe(2);
});

describeWith(["openssl"], "TLS", () => {
  test("--tls-cert and --tls-key serve HTTPS, also with workers", async () => {
    const [cert, key] = await certificate("cert", "IP:127.0.0.1");
    expect(await readFile(cert, "utf8")).toContain("BEGIN CERTIFICATE");
    const served = await serve("--tls-cert", cert, "--tls-key", key, "--workers", "2");
    const { url } = served;
    expect(url).toMatch(/^https:/);
    expect((await finish(["call", url, "one", "--cacert", cert])).stdout).toBe("1\n");
    served.child.kill("SIGTERM");
    expect((await served.exited).stdout).toMatch(/\nStopping\.\n$/);
  });

  const hasCurl = spawnSync("curl", ["--version"]).status === 0;

  test.skipIf(!hasCurl).each([
    ["its address", "IP:127.0.0.1", "https://127.0.0.1"],
    ["localhost", "DNS:localhost", "https://localhost"],
  ])("the lines to try trust a certificate for %s (needs curl)", async (_, names, address) => {
    const [cert, key] = await certificate("it's mine", names);
    const demo = start(["demo", "--port", "0", "--tls-cert", cert, "--tls-key", key]);
    onTestFinished(() => demo[Symbol.asyncDispose]());
    await demo.shown(/Press Ctrl-C/);
    const lines = demo.stdout.split("\n").filter((line) => line.startsWith("  curl "));
    expect(lines).toEqual([expect.stringContaining(address), expect.stringContaining(address)]);
    const outputs = await Promise.all(lines.map((line) => run("sh", ["-c", `${line} -sS`])));
    expect(outputs.map(({ stdout }) => stdout)).toEqual([
      expect.stringContaining('"result"'),
      expect.stringContaining("[DONE]"),
    ]);
  });
});

/** A new certificate and its key. */
async function certificate(name: string, names: string): Promise<[cert: string, key: string]> {
  const [cert, key] = [inFolder(`${name}.pem`), inFolder(`${name} key.pem`)];
  const subject = ["-subj", "/CN=localhost", "-addext", `subjectAltName=${names}`];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject];
  await run(pathOf("openssl"), [...args, "-keyout", key, "-out", cert]);
  return [cert, key];
}
