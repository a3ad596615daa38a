import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createClient, createServer, type Server, silentLog, stream } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { json } from "../transports/http/wire.ts";
import { build, finish, type Process, start } from "./process.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-record-"));
  await build();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

let rate: number;

beforeEach(() => {
  rate = 2;
});

const methods = {
  add: (a: number, b: number) => a + b,
  convert: (amount: number) => ({ amount: amount * rate, at: new Date(), id: Math.random() }),
  login: (params: { password: string }) => ({ token: "t0ps3cret", length: params.password.length }),
  fail: () => {
    throw new Error("no");
  },
  count: stream({}, async function* () {
    yield 1;
    yield 2;
  }),
};

async function serve(): Promise<{ url: string; server: Server }> {
  const server = createServer(methods, { log: { debug() {}, info() {}, warn() {}, error() {} } });
  const { url } = await serveHttp(server, { port: 0 });
  return { url, server };
}

async function recording(
  url: string,
  file: string,
  ...more: string[]
): Promise<Process & { url: string }> {
  const recorder = start(["record", url, "--to", file, "--port", "0", ...more]);
  const [, proxy = ""] = await recorder.shown(/call (http:\S+) instead/);
  return Object.assign(recorder, { url: proxy });
}

async function stopped(recorder: Process): Promise<void> {
  recorder.child.kill("SIGINT");
  expect((await recorder.exited).code).toBe(0);
}

interface Line {
  connection: number;
  wire: string;
  from: string;
  message: { method?: string; id?: unknown; result?: unknown; params?: unknown };
}

async function linesOf(file: string): Promise<Line[]> {
  const text = await readFile(file, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

describe("callwire record and replay", () => {
  test("compressed replies arrive compressed", async () => {
    const { url, server } = await serve();
    await using recorder = await recording(url, join(folder, "compressed.jsonl"));
    const response = await fetch(recorder.url, {
      method: "POST",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
      body: gzipSync('{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}'),
    });
    // The answer of the server itself.
    expect([response.status, await response.json()]).toEqual([
      200,
      { jsonrpc: "2.0", result: 3, id: 1 },
    ]);
    await server.close();
  });

  test("each cookie arrives, and an upgrade is refused as the server refuses it", async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(200, { "set-cookie": ["a=1", "b=2"] }).end("{}");
    });
    server.on("upgrade", (_, socket) => void socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const file = join(folder, "cookies.jsonl");
    await using recorder = await recording(`http://127.0.0.1:${port}/`, file);
    const { headers } = await fetch(recorder.url, { method: "POST", body: "{}" });
    const link = webSocketLink(recorder.url.replace("http", "ws"), { reconnect: false });
    await using client = createClient(link);
    const refused = await client.call("add").catch((error: Error) => error.message);
    server.close();
    expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(refused).toContain("401");
  });

  test("messages over HTTP and WebSocket are recorded without secrets, and forwarded unchanged", async () => {
    const { url, server } = await serve();
    const file = join(folder, "calls.jsonl");
    await using recorder = await recording(url, file, "--redact", "amount,params[1]");
    const http = createClient<typeof methods>(httpLink(recorder.url));
    const ws = createClient<typeof methods>(webSocketLink(recorder.url.replace("http", "ws")));
    expect(await http.api.login({ password: "hunter2" })).toEqual({
      token: "t0ps3cret",
      length: 7,
    });
    expect(await http.batch((b) => [b.add(1, 770_077), b.convert(4)])).toMatchObject([
      770_078,
      { amount: 8 },
    ]);
    const items: unknown[] = [];
    for await (const item of ws.stream("count")) items.push(item);
    for await (const item of http.stream("count")) items.push(item);
    expect(items).toEqual([1, 2, 1, 2]);
    await Promise.all([http.close(), ws.close()]);
    await stopped(recorder);
    await server.close();
    const text = await readFile(file, "utf8");
    for (const secret of ["hunter2", "t0ps3cret", "770077", '"amount":8'])
      expect(text).not.toContain(secret);
    expect((await stat(file)).mode & 0o077).toBe(0);
    const lines = await linesOf(file);
    expect(lines[0]).toMatchObject({
      wire: "http",
      from: "client",
      message: { method: "login", params: { password: "[redacted]" } },
    });
    expect(lines[1]).toMatchObject({
      connection: lines[0]?.connection,
      from: "server",
      message: { result: { token: "[redacted]", length: 7 } },
    });
    const pushed = lines.filter(({ message }) => message.method === "$/stream");
    expect(pushed.map(({ wire }) => wire).sort()).toEqual([
      "http",
      "http",
      "websocket",
      "websocket",
    ]);
  });

  test("a recording is sent again over any wire; ids, times and listed places may differ", async () => {
    const { url, server } = await serve();
    const file = join(folder, "again.jsonl");
    await using recorder = await recording(url, file);
    const http = createClient<typeof methods>(httpLink(recorder.url));
    await http.api.add(1, 2);
    await http.batch((b) => [b.add(1, 2), b.convert(4)]);
    await http.call("fail").catch(() => {});
    await http.notify("add", [1, 1]);
    await http.api.login({ password: "hunter2" });
    for await (const _ of http.stream("count"));
    await http.close();
    await stopped(recorder);
    const ignore = ["--ignore", "result.id"];
    for (const target of [url, url.replace("http", "ws")]) {
      const same = await finish(["replay", file, target, ...ignore]);
      expect(same.stdout).toBe(
        "6 calls, 6 the same, 0 different, 1 not sent (redacted params, or not a call)\n",
      );
      expect(same.code).toBe(0);
    }
    rate = 3;
    const changed = await finish(["replay", file, url, ...ignore]);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain('"convert"\n  result.amount: 8 became 12\n');
    expect(changed.stdout).toContain("6 calls, 5 the same, 1 different");
    const told = await finish(["replay", file, url, "--json"]);
    const paths = (JSON.parse(told.stdout) as { differing: { differences: { path: string }[] }[] })
      .differing;
    expect(paths.flatMap(({ differences }) => differences.map(({ path }) => path))).toEqual([
      "result.amount",
      "result.id",
    ]);
    await server.close();
  });

  test("a stream that its reader left is read as far, and left again", async () => {
    let first = 0;
    const numbers = stream({}, async function* () {
      for (let n = first; ; n++) yield n;
    });
    const server = createServer({ ...methods, numbers }, { log: silentLog });
    const { url } = await serveHttp(server, { port: 0 });
    const file = join(folder, "left.jsonl");
    await using recorder = await recording(url, file);
    const webSocketUrl = recorder.url.replace("http", "ws");
    for (const link of [webSocketLink(webSocketUrl), httpLink(recorder.url)]) {
      const client = createClient(link);
      for await (const n of client.stream("numbers")) if (n === 2) break;
      await client.call("add", [1, 2]);
      await client.close();
    }
    await stopped(recorder);
    for (const target of [url, url.replace("http", "ws")]) {
      const same = await finish(["replay", file, target]);
      expect(same).toMatchObject({ code: 0, stdout: "4 calls, 4 the same, 0 different\n" });
    }
    first = 1;
    const changed = await finish(["replay", file, url]);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain('"numbers"\n  items.0: 0 became 1\n');
    await server.close();
  });

  test("a call that was cancelled without an answer is cancelled again after the same time", async () => {
    const server = createServer({ ...methods, hang: () => new Promise(() => {}) });
    const { url } = await serveHttp(server, { port: 0 });
    const file = join(folder, "hung.jsonl");
    await using recorder = await recording(url, file);
    const client = createClient(webSocketLink(recorder.url.replace("http", "ws")));
    const giveUp = new AbortController();
    const hung = client.call("hang", undefined, { signal: giveUp.signal });
    await client.call("add", [1, 2]);
    giveUp.abort();
    await expect(hung).rejects.toMatchObject({ code: "ABORTED" });
    await client.call("add", [2, 2]);
    await client.close();
    await stopped(recorder);
    // Alone, so that no other answer has to arrive while this one is awaited.
    const alone = (await linesOf(file)).filter(
      ({ message }) => !/"add"|"result"/.test(JSON.stringify(message)),
    );
    expect(alone[0]).toMatchObject({ from: "client", message: { method: "hang" } });
    await writeFile(file, alone.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const same = await finish(["replay", file, url, "--timeout", "100ms"]);
    expect(same).toMatchObject({ code: 0, stdout: "1 calls, 1 the same, 0 different\n" });
    await server.close({ drainMs: 0 });
  });

  test("only the time of a call may differ, not any number or date that looks like a time", async () => {
    const now = Date.now();
    const said = {
      ms: () => Date.now(),
      seconds: () => Math.floor(Date.now() / 1000),
      iso: () => new Date().toISOString(),
      bare: () => new Date().toISOString().slice(0, -1),
      day: () => new Date().toISOString().slice(0, 10),
      big: () => 1_500_000_000,
      total: () => 2_000_000_000,
      born: () => "1990-01-01",
      old: () => new Date(now - 3_600_000).toISOString(),
      unit: () => Date.now(),
    };
    const server = createServer(said);
    const { url } = await serveHttp(server, { port: 0 });
    // Recorded on the first day of 2024, at noon.
    const then = Date.UTC(2024, 0, 1, 12);
    const recorded: Record<keyof typeof said, unknown> = {
      ms: then + 900,
      seconds: then / 1000,
      iso: new Date(then - 60_000).toISOString(),
      bare: "2024-01-01T12:00:00.123456",
      day: "2024-01-01",
      big: 3_999_999_999,
      total: 1_234_567_890,
      born: "1815-12-10",
      old: new Date(then).toISOString(),
      unit: then / 1000,
    };
    const file = join(folder, "times.jsonl");
    const lines = Object.entries(recorded).flatMap(([method, result], id) => {
      const place = { time: new Date(then).toISOString(), connection: 1, wire: "http" };
      return [
        { ...place, from: "client", message: { jsonrpc: "2.0", method, id } },
        { ...place, from: "server", message: { jsonrpc: "2.0", result, id } },
      ];
    });
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const differing = async (...flags: string[]): Promise<string[]> => {
      const { stdout, code } = await finish(["replay", file, url, "--json", ...flags]);
      expect(code).toBe(1);
      const told = JSON.parse(stdout) as { differing: { method: string }[] };
      return told.differing.map(({ method }) => method);
    };
    expect(await differing()).toEqual(["big", "total", "born", "old", "unit"]);
    expect(await differing("--exact")).toEqual(Object.keys(said));
    await server.close();
  });

  test("a replay sends the credential that it is given", async () => {
    const known = bearer((token) => (token === "x" ? { id: "ann" } : undefined));
    const server = createServer(methods, { log: silentLog, use: [authenticate(known)] });
    const { url } = await serveHttp(server, { port: 0 });
    const file = join(folder, "guarded.jsonl");
    const place = { time: new Date().toISOString(), connection: 1, wire: "http" };
    const lines = [
      {
        ...place,
        from: "client",
        message: { jsonrpc: "2.0", method: "add", params: [2, 3], id: 1 },
      },
      { ...place, from: "server", message: { jsonrpc: "2.0", result: 5, id: 1 } },
    ];
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    expect(await finish(["replay", file, url])).toMatchObject({ code: 1 });
    expect(await finish(["replay", file, url, "--bearer", "x"])).toMatchObject({ code: 0 });
    await server.close();
  });

  test("its headers go with requests that do not have their own, but not with those of other pages", async () => {
    const seen: (string | undefined)[] = [];
    const target = createHttpServer((incoming, response) => {
      seen.push(incoming.headers.authorization);
      response.end("{}");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void target.close());
    await once(target, "listening");
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/rpc`;
    const file = join(folder, "with-headers.jsonl");
    await using recorder = await recording(url, file, "--bearer", "given");
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(recorder.url, { method: "POST", headers, body: "{}" })).status;
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ authorization: "Own" })).toBe(200);
    expect(await statusWith({ origin: "https://evil.example" })).toBe(403);
    expect(seen).toEqual(["Bearer given", "Own"]);
  });

  test("a target that is silent for --timeout is reported, and its caller gets 502", async () => {
    const silent = createHttpServer(() => {}).listen(0, "127.0.0.1");
    onTestFinished(() => silent.closeAllConnections());
    await once(silent, "listening");
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/rpc`;
    await using recorder = await recording(url, join(folder, "silent.jsonl"), "--timeout", "50ms");
    const { status } = await fetch(recorder.url, { method: "POST", body: "{}" });
    expect(status).toBe(502);
    await recorder.shown(/does not answer: no reply within 0\.05 s/, "stderr");
  });

  test("what cannot be done is one line", async () => {
    const file = join(folder, "bad.jsonl");
    await writeFile(file, '{"from":"client"}\nnonsense\n');
    const outcomes = await Promise.all([
      finish(["record", "http://127.0.0.1:1/rpc"]),
      finish(["record", "tcp://127.0.0.1:1", "--to", file]),
      finish([
        "record",
        "http://127.0.0.1:1/",
        "--to",
        join(folder, "no", "such", "file"),
        "--port",
        "0",
      ]),
      finish(["replay", file, "http://127.0.0.1:1/"]),
      finish(["replay", join(folder, "none"), "http://127.0.0.1:1/"]),
      finish(["replay", file]),
    ]);
    for (const { code, stderr } of outcomes) {
      expect(code).toBe(2);
      expect(stderr).toMatch(/^callwire: .*\n$/);
    }
    const [, , unwritable, , missing] = outcomes;
    expect(unwritable).toMatchObject({
      stdout: "",
      stderr: expect.stringContaining("cannot be written: no such folder"),
    });
    expect(missing?.stderr).toBe(`callwire: ${join(folder, "none")}: no such file\n`);
  });

  test("a recorder forwards to its server only, and refuses other host names", async () => {
    const { url } = await serve();
    const file = join(folder, "led.jsonl");
    const visits: unknown[] = [];
    const other = createHttpServer((request, response) => {
      visits.push(request.url);
      response.end();
    });
    other.on("upgrade", (request, socket) => {
      visits.push(request.url);
      socket.destroy();
    });
    await once(other.listen(0, "127.0.0.1"), "listening");
    const elsewhere = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    await using recorder = await recording(url, file);
    const { port, host } = new URL(recorder.url);
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const status = async (path: string, headers: Record<string, string> = {}): Promise<unknown> => {
      const asked = request({ host: "127.0.0.1", port, path, headers: { host, ...headers } });
      const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await status("/healthz")).toBe(200);
    expect(await status(`//${elsewhere}/x`)).toBe(404);
    expect(await status(`http://${elsewhere}/x`)).toBe(403);
    expect(await status("/healthz", { host: "evil.example" })).toBe(403);
    expect(await status("/rpc", { ...upgrade, host: "evil.example" })).toBe(403);
    expect(await status(`http://${elsewhere}/x`, upgrade)).toBe(403);
    expect(await status(`//${elsewhere}/x`, upgrade)).toBe(404);
    expect(await status("/rpc", { ...upgrade, "sec-websocket-protocol": "a, a" })).toBe(400);
    expect(visits).toEqual([]);
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const read = await fetch(recorder.url, { method: "POST", headers: json, body: deep });
    expect(await read.text()).toContain("-32600");
    expect(await createClient(httpLink(recorder.url)).call("add", [2, 3])).toBe(5);
    await stopped(recorder);
    other.close();
  });

  test("a server that has stopped is a bad gateway, and a replay to it ends", async () => {
    const file = join(folder, "gone.jsonl");
    await using recorder = await recording("http://127.0.0.1:1/rpc", file);
    const response = await fetch(recorder.url, {
      method: "POST",
      body: '{"jsonrpc":"2.0","method":"x","id":1}',
    });
    expect(response.status).toBe(502);
    const ws = webSocketLink(recorder.url.replace("http", "ws"), { reconnect: false });
    await expect(createClient(ws).call("x")).rejects.toThrow();
    await stopped(recorder);
    const again = await finish(["replay", file, "http://127.0.0.1:1/rpc", "--json"]);
    expect(again.code).toBe(3);
    expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: "CONNECTION_FAILED" } });
  });
});

test("reports once that its server does not answer, and once that it answers again", async () => {
  const port = await ownPort();
  const away = `http://127.0.0.1:${port}/rpc`;
  await using recorder = await recording(away, join(folder, "away.jsonl"));
  const body = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';
  const ask = () => fetch(recorder.url, { method: "POST", headers: json, body });
  expect([(await ask()).status, (await ask()).status]).toEqual([502, 502]);
  await recorder.shown(/does not answer: .*ECONNREFUSED/, "stderr");
  const server = createServer(methods, { log: silentLog });
  await serveHttp(server, { port });
  expect((await ask()).status).toBe(200);
  await recorder.shown(/answers again/, "stderr");
  await server.close();
  expect(recorder.stderr.match(/does not answer/g)).toHaveLength(1);
});
