import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { createServer, method, type Server, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { describeWith, pathOf } from "../services.ts";
import { builtWithFolder } from "./folder.ts";
import { finish, start } from "./process.ts";

const inFolder = builtWithFolder();
const run = promisify(execFile);

let server: Server;
let http: HttpServer;

beforeAll(async () => {
  server = createServer(
    { headers: method({}, (_, { transport }) => transport.headers) },
    { log: silentLog },
  );
  http = await serveHttp(server, { port: 0 });
});

afterAll(() => server.close({ drainMs: 0 }));

async function authorization(args: readonly string[], env = {}): Promise<unknown> {
  const { stdout, stderr } = await finish(["call", ...args], { env });
  if (stdout === "") return stderr;
  return JSON.parse(stdout).authorization;
}

test("a token comes from --bearer, a file or the environment, in this order", async () => {
  const file = inFolder("token");
  await writeFile(file, "from-file\n");
  const env = { CALLWIRE_TOKEN: "from-environment" };
  const call = [http.url, "headers"];
  expect(await authorization(call, env)).toBe("Bearer from-environment");
  expect(await authorization([...call, "--bearer", `@${file}`], env)).toBe("Bearer from-file");
  expect(await authorization([...call, "--bearer", "given"], env)).toBe("Bearer given");
  expect(await authorization([...call, "-H", "authorization: Own"], env)).toBe("Own");
});

test("@name stands for a server of the config, and options override its settings", async () => {
  const file = inFolder("config.json");
  const prod = { url: http.url, bearer: "$PROD_TOKEN", timeout: "5s" };
  await writeFile(file, JSON.stringify({ servers: { prod, odd: { url: http.url, tiemout: "" } } }));
  const env = { CALLWIRE_CONFIG: file, PROD_TOKEN: "secret" };
  expect(await authorization(["@prod", "headers"], env)).toBe("Bearer secret");
  expect(await authorization(["@prod", "headers", "--bearer", "x"], env)).toBe("Bearer x");
  expect(await authorization(["@prd", "headers"], env)).toContain("@prod");
  expect(await authorization(["@odd", "headers"], env)).toMatch(
    /unknown setting "tiemout".*timeout/,
  );
});

test("one format for times: 500ms, 5s or 2m, with the unit", async () => {
  for (const time of ["500ms", "5s", "2m"]) {
    const { code } = await finish(["call", http.url, "headers", "--timeout", time]);
    expect([time, code]).toEqual([time, 0]);
  }
  for (const [verb, option, ...rest] of [
    ["call", "--timeout", "headers"],
    ["bench", "--duration", "headers"],
    ["top", "--interval"],
  ] as const) {
    const { code, stderr } = await finish([verb, http.url, ...rest, option, "5"]);
    const failure = `callwire: ${option} must be a time such as 500ms, 5s or 2m, not "5"\n`;
    expect([code, stderr]).toEqual([2, failure]);
  }
});

test("top and the playground give a silent server as long as --timeout says", async () => {
  const silent = createHttpServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => silent.closeAllConnections());
  await once(silent, "listening");
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/rpc`;
  const late = ["--timeout", "50ms"];
  const top = await finish(["top", url, "--once", ...late]);
  expect([top.code, top.stderr]).toEqual([3, expect.stringContaining("no reply within 0.05 s")]);
  await using playground = start(["playground", url, "--port", "0", "--no-open", ...late]);
  const [page] = await playground.shown(/http:\/\/127\.0\.0\.1:\d+/);
  const reply = await fetch(`${page}/rpc`, { method: "POST", body: "{}" });
  expect([reply.status, await reply.text()]).toEqual([502, "no reply within 0.05 s"]);
});

test("PORT and CALLWIRE_ variables set options that are not given, and --help lists them", async () => {
  const { stdout: help } = await finish(["serve", "--help"]);
  expect(help).toMatch(/Environment:\n(.*\n)*? {2}PORT +--port\n/);
  expect(help).toMatch(/CALLWIRE_WORKERS +--workers/);
  const env = { CALLWIRE_LOG: "colourful" };
  const { stderr } = await finish(["serve", "examples/demo/methods.ts", "--port", "0"], { env });
  expect(stderr).toContain('--log must be json or pretty, not "colourful"');
});

describeWith(["openssl"], "TLS", () => {
  let secure: HttpServer;
  let ca: string;

  beforeAll(async () => {
    ca = inFolder("cert.pem");
    const key = inFolder("key.pem");
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject];
    await run(pathOf("openssl"), [...args, "-keyout", key, "-out", ca]);
    const tls = { cert: await readFile(ca), key: await readFile(key) };
    secure = await serveHttp(server, { port: 0, tls });
  });

  const wires = { https: "/rpc", wss: "/rpc" };

  test.each(Object.entries(wires))("--cacert and --insecure over %s", async (scheme, path) => {
    const url = `${scheme}://localhost:${secure.port}${path}`;
    const call = (...flags: string[]) => finish(["call", url, "headers", ...flags]);
    expect((await call()).code).toBe(3);
    expect((await call("--cacert", ca)).code).toBe(0);
    expect((await call("--insecure")).code).toBe(0);
    expect((await call("--cacert", inFolder("no.pem"))).stderr).toContain(
      "--cacert: no such file: ",
    );
  });

  test("a gateway uses them for its upstreams", async () => {
    const url = `https://localhost:${secure.port}/rpc`;
    await using gateway = start(["gateway", "--to", url, "--port", "0", "--cacert", ca]);
    const [origin] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const reply = await finish(["call", `${origin}/rpc`, "headers"]);
    expect([reply.code, reply.stderr]).toEqual([0, ""]);
  });

  test("probes and other verbs use them too", async () => {
    const url = `https://localhost:${secure.port}/rpc`;
    const { code, stdout } = await finish(["inspect", url, "--quick", "--cacert", ca]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("WebSocket")]);
  });
});
