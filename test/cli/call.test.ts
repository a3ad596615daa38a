import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, method, RpcError, type Server } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { build, cli, finish, inSlowTime, type Process, start, startDemo } from "./process.ts";

let folder: string;
let demo: Process & { readonly origin: string };
let rpc: string;
let tcp: string;
let unix: string;

/** A server in this process, which the tests can observe. */
let server: Server;
let http: HttpServer;
let onBegun: () => void;
let onCancelled: (reason: unknown) => void;

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-call-"));
  unix = join(folder, "demo.sock");
  demo = await startDemo(["--tcp", "0", "--unix", unix]);
  rpc = `${demo.origin}/rpc`;
  const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
  tcp = `tcp://127.0.0.1:${port}`;
  server = createServer({
    headers: method({}, (_, call) => call.transport.headers),
    escape: method({}, () => "\u001b[31m\u009b31mred"),
    crop: method(
      { params: z.object({ photo: z.file(), at: z.date() }), result: z.file() },
      async ({ photo, at }) => {
        const bytes = (await photo.bytes()).subarray(0, 3);
        return new File([bytes], `${photo.name} ${at.getTime()}`, { type: photo.type });
      },
    ),
    hello: (name: string) => `Hello, ${name}`,
    typed: method(
      {
        params: z.object({
          order: z.string(),
          count: z.number(),
          note: z.string().nullable().optional(),
          inner: z.object({ code: z.string() }).optional(),
        }),
      },
      (params) => params,
    ),
    fail: method({}, () => {
      throw new RpcError(1, "\u001b[31mred\u0007");
    }),
    hang: method({}, (_, { signal }) => {
      onBegun();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          onCancelled(signal.reason);
          reject(signal.reason);
        });
      });
    }),
  });
  http = await serveHttp(server, { port: 0 });
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await server?.close({ drainMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

describe("params", () => {
  test.each<[words: string[], result: unknown]>([
    [["echo", '{"message":{"a":[1]}}'], { a: [1] }],
    [["echo", '["text"]'], "text"],
    [["echo", "message=hello"], "hello"],
    [["echo", "message=2"], 2],
    [["echo", "message=a=b"], "a=b"],
    [["echo", 'message="2"'], "2"],
    [
      ["echo", "message.a.b=1", "message.a.c=x", "message.d=[true]"],
      { a: { b: 1, c: "x" }, d: [true] },
    ],
    [["echo", "message.__proto__.polluted=1"], JSON.parse('{"__proto__":{"polluted":1}}')],
    [["echo", "hello there"], "hello there"],
    [["add", "2", "3"], 5],
    [["add", "-2", "-1.5"], -3.5],
    [["get_server_time"], expect.stringMatching(/^\d{4}-/)],
  ])("callwire call %j", async (words, result) => {
    const { code, stdout, stderr } = await finish(["call", rpc, ...words]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(result);
    expect(code).toBe(0);
  });

  test("from standard input", async () => {
    await using call = start(["call", rpc, "add", "-"]);
    call.child.stdin?.end('{"a": 2,\n "b": 3}');
    expect(await call.exited).toEqual({ code: 0, stdout: "5\n", stderr: "" });
  });

  test("from a file", async () => {
    const file = join(folder, "params.json");
    await writeFile(file, "[2, 3]\n");
    expect(await finish(["call", rpc, "add", `@${file}`])).toMatchObject({
      code: 0,
      stdout: "5\n",
    });
  });

  test("from a file with a text of any length", async () => {
    const file = join(folder, "long.json");
    await writeFile(file, JSON.stringify({ a: '"'.repeat(8 * 1024 * 1024) }));
    const { code, stderr } = await finish(["call", rpc, "add", `@${file}`]);
    expect(stderr).toContain("a message must have at most 1048576 bytes");
    expect(code).toBe(1);
  });
});

describe("types that the server declares", () => {
  const typed = (...words: string[]) => finish(["call", http.url, "typed", ...words], inSlowTime);

  test.each<[words: string[], result: unknown]>([
    [["order=7", "count=7"], { order: "7", count: 7 }],
    [["order=true", "count=1", "note=null"], { order: "true", count: 1, note: null }],
    [["order=12345678901234567890", "count=1"], { order: "12345678901234567890", count: 1 }],
    [["order=a", "count=1", "inner.code=007"], { order: "a", count: 1, inner: { code: "007" } }],
  ])("%j", async (words, result) => {
    const { code, stdout } = await typed(...words);
    expect([code, JSON.parse(stdout)]).toEqual([0, result]);
  });

  test("a param that a function takes by position can be named", async () => {
    const hello = async (...words: string[]) =>
      (await finish(["call", http.url, "hello", ...words], inSlowTime)).stdout;
    expect(await hello("name=Ann")).toBe('"Hello, Ann"\n');
    expect(await hello("Ann")).toBe('"Hello, Ann"\n');
  });

  test("a file is sent with @, and the bytes of a result are written with -o", async () => {
    const photo = join(folder, "sea.jpg");
    const small = join(folder, "small.jpg");
    await writeFile(photo, "\0sea at night");
    const words = ["call", http.url, "crop", `photo=@${photo}`, "at=1970-01-01"];
    const shown = await finish([...words, "--json"], inSlowTime);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      result: { name: "sea.jpg 0", type: "image/jpeg", size: 3 },
    });
    expect(shown.stderr).toContain("--output writes them to a file");
    const written = await finish([...words, "-o", small], inSlowTime);
    expect([written.code, written.stdout]).toEqual([0, ""]);
    expect(await readFile(small, "utf8")).toBe("\0se");
    const { stderr } = await finish(["call", http.url, "crop", "photo=@none.jpg"], inSlowTime);
    expect(stderr).toBe("callwire: none.jpg: no such file\n");
  });

  test("--verbose shows only the call", async () => {
    const { stderr } = await typed("order=7", "count=7", "--verbose");
    expect(stderr.match(/^-->/gm)).toHaveLength(1);
    expect(stderr).not.toContain("rpc.discover");
  });
});

describe("wires", () => {
  const wires = ["http", "ws", "tcp", "unix", "stdio"] as const;
  const urlOf = (wire: (typeof wires)[number]): string =>
    ({
      http: rpc,
      ws: `${rpc.replace(/^http/, "ws")}/ws`,
      tcp,
      unix: `unix:${unix}`,
      stdio: `stdio:${process.execPath} ${cli} demo --stdio`,
    })[wire];

  test.each(wires)("a call over %s", async (wire) => {
    const { code, stdout } = await finish(["call", urlOf(wire), "math/add", "a=2", "b=3"]);
    expect(stdout).toBe("5\n");
    expect(code).toBe(0);
  });

  test.each(wires)("--verbose shows what passes over %s", async (wire) => {
    const { stdout, stderr } = await finish(["call", urlOf(wire), "add", "2", "3", "--verbose"]);
    expect(stdout).toBe("5\n");
    const request = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';
    const reply = '{"jsonrpc":"2.0","result":5,"id":1}';
    expect(stderr).toMatch(/^--> +0\.0 ms +54 B {2}/m);
    expect(stderr).toMatch(/^<-- +[\d.]+ ms +35 B {2}/m);
    expect(stderr.indexOf(request)).toBeGreaterThan(0);
    expect(stderr.indexOf(reply)).toBeGreaterThan(stderr.indexOf(request));
  });

  test("--verbose shows the status and the events of HTTP", async () => {
    const { stderr } = await finish(["call", rpc, "slow/work", "ms=10", "--verbose"]);
    expect(stderr).toContain("HTTP 200 text/event-stream");
    expect(stderr.match(/^<-- .*\$\/progress/gm)).toHaveLength(10);
  });

  test("--framing is that of the server", async () => {
    const child = `stdio:${process.execPath} ${cli} demo --stdio --framing content-length`;
    const args = ["call", child, "add", "2", "3", "--framing", "content-length"];
    expect(await finish(args)).toMatchObject({ code: 0, stdout: "5\n" });
  });

  test("--v1 uses JSON-RPC 1.0", async () => {
    const args = ["call", `${demo.origin}/jsonrpc`, "add", "2", "3", "--v1", "--verbose"];
    const { stdout, stderr } = await finish(args);
    expect(stdout).toBe("5\n");
    expect(stderr).toContain('{"method":"add","params":[2,3],"id":1}');
    expect(stderr).toContain('{"result":5,"error":null,"id":1}');
  });
});

describe("what is sent beside the call", () => {
  test("each -H is a header, and --bearer is one", async () => {
    const args = ["call", http.url, "headers", "-H", "x-one: 1", "-H", "X-Two: a: b"];
    const { stdout } = await finish([...args, "--bearer", "secret"]);
    expect(JSON.parse(stdout)).toMatchObject({
      "x-one": "1",
      "x-two": "a: b",
      authorization: "Bearer secret",
    });
  });

  test("a repeated header is sent as well", async () => {
    const lines = ["cookie: a=1", "Cookie: b=2", "x-one: 1", "X-One: 2"];
    const { stdout } = await finish([
      ...["call", http.url, "headers"],
      ...lines.flatMap((line) => ["-H", line]),
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ cookie: "a=1; b=2", "x-one": "1, 2" });
  });

  test("over WebSocket they go with the upgrade", async () => {
    const url = `${http.url.replace(/^http/, "ws")}/ws`;
    const { stdout } = await finish(["call", url, "headers", "-H", "x-one: 1"]);
    expect(JSON.parse(stdout)).toMatchObject({ "x-one": "1" });
  });
});

describe("what goes wrong", () => {
  test("for a server that wants a credential, the options that send one are named", async () => {
    const known = bearer((token) => (token === "x" ? { id: "ann" } : undefined));
    const guarded = createServer({ hi: () => "hi" }, { use: [authenticate(known)] });
    const { url } = await serveHttp(guarded, { port: 0 });
    const said = async (...words: string[]) => (await finish([...words])).stderr;
    const advice = "; try --bearer or -H\n";
    expect(await said("call", url, "hi")).toBe(
      `callwire: hi answered -32001 Unauthenticated${advice}`,
    );
    const socket = `${url.replace(/^http/, "ws")}/ws`;
    expect(await finish(["call", socket, "hi"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `callwire: ${socket} answered -32001 Unauthenticated${advice}`,
    });
    expect(await said("generate", url)).toContain(`-32001 Unauthenticated${advice}`);
    expect(await said("call", url, "hi", "--bearer", "y")).not.toContain("try");
    expect(await said("call", url, "hi", "-H", "Authorization: Bearer x")).toBe("");
    await guarded.close();
  });

  test("an error of the server is one line, with exit code 1", async () => {
    expect(await finish(["call", rpc, "math/sqrt", "x=-1"])).toEqual({
      code: 1,
      stdout: "",
      stderr: 'callwire: math/sqrt answered -32000 Negative input {"x":-1}\n',
    });
  });

  test("--json shows a result or an error for scripts", async () => {
    expect(await finish(["call", rpc, "add", "2", "3", "--json"])).toMatchObject({
      code: 0,
      stdout: '{"result":5}\n',
    });
    expect(await finish(["call", rpc, "math/sqrt", "x=-1", "--json"])).toMatchObject({
      code: 1,
      stdout: '{"error":{"code":-32000,"message":"Negative input","data":{"x":-1}}}\n',
    });
    const { code, stdout } = await finish(["call", "http://127.0.0.1:1", "add", "--json"]);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "CONNECTION_FAILED" } });
  });

  test.each([
    ["http://127.0.0.1:1/rpc"],
    ["ws://127.0.0.1:1/rpc"],
    ["tcp://127.0.0.1:1"],
    ["unix:/nowhere/at/all.sock"],
    ["stdio:/nowhere/at/all"],
  ])("no connection to %s is exit code 3", async (url) => {
    const { code, stdout, stderr } = await finish(["call", url, "add"]);
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(3);
  });

  test.each(["call", "stream", "discover"])(
    "%s: what a program says that dies is shown once",
    async (verb) => {
      const file = join(folder, "dies.mjs");
      await writeFile(file, 'process.stderr.write("no\\nconfig\\n"); process.exitCode = 4;\n');
      const address = `stdio:"${process.execPath}" "${file}"`;
      const method = verb === "discover" ? [] : ["add"];
      expect(await finish([verb, address, ...method])).toEqual({
        code: 3,
        stdout: "",
        stderr: `no\nconfig\ncallwire: ${address}: ${process.execPath} exited with code 4\n`,
      });
    },
  );

  test("a server that does not reply is abandoned after --timeout", async () => {
    const silent = createTcpServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const url = `tcp://127.0.0.1:${port}`;
    const { code, stderr } = await finish(["call", url, "add", "--timeout", "100ms"]);
    expect(stderr).toMatch(/did not answer within 0\.1 s/);
    expect(code).toBe(3);
    silent.close();
  });

  test("a stream is not called, but read", async () => {
    const { code, stderr } = await finish(["call", rpc, "math/count", "to=3"]);
    expect(stderr).toBe('callwire: math/count is a stream; use "callwire stream"\n');
    expect(code).toBe(2);
  });

  test("what a server says cannot steer the terminal", async () => {
    const { stdout } = await finish(["call", http.url, "escape"]);
    expect(stdout).toBe('"\\u001b[31m\\u009b31mred"\n');
    const { stderr } = await finish(["call", http.url, "fail"]);
    expect(stderr).toBe("callwire: fail answered 1 \\u001b[31mred\\u0007\n");
  });

  test.each<[args: string[], line: RegExp]>([
    [["call"], /call needs an address/],
    [["call", "localhost:8000/rpc", "add"], /did you mean "http:\/\/localhost:8000\/rpc"\?/],
    [["call", "ftp://x", "add"], /is not an address; addresses are/],
    [["call", "http://127.0.0.1:1"], /call needs a method/],
    [["call", "http://127.0.0.1:1", "add", "{"], /params: invalid JSON/],
    [["call", "http://127.0.0.1:1", "add", "a=1", "2"], /all be named.*or all be by position/],
    [["call", "http://127.0.0.1:1", "add", "a=1", "a=2"], /a is given twice/],
    [["call", "http://127.0.0.1:1", "add", "a=1", "a.b=2"], /a already has a value/],
    [["call", "http://127.0.0.1:1", "add", "@/nowhere"], /\/nowhere: no such file/],
    [
      ["call", "http://127.0.0.1:1", "add", "--timeout", "soon"],
      /--timeout must be a time such as/,
    ],
    [["call", "http://127.0.0.1:1", "add", "-H", "nothing"], /--header must be "name: value"/],
    [
      ["call", "http://127.0.0.1:1", "add", "a=1", "--v1"],
      /named params do not exist in JSON-RPC 1\.0/,
    ],
    [["call", "tcp://127.0.0.1:1", "add", "--bearer", "x"], /do not work with tcp: addresses/],
    ...["http://127.0.0.1:1", "ws://127.0.0.1:1"].map((url): [string[], RegExp] => [
      ["call", url, "add", "--framing", "newline"],
      /a framing does not work with/,
    ]),
    [["call", 'stdio:node -e "x', "add"], /a quote is not closed/],
    [["mcp", "stdio:node it's.js", "tools"], /a quote is not closed/],
    [
      ["call", "http://127.0.0.1:1", "add", "-H", "Authorization: a", "--bearer", "b"],
      /--bearer cannot be combined with an authorization header/,
    ],
    ...["id=9007199254740993", "9007199254740993", '{"id":["a",9007199254740993]}'].map(
      (params): [string[], RegExp] => [
        ["call", "http://127.0.0.1:1", "add", params],
        /the number 9007199254740993 would be rounded to 9007199254740992; send it as a string/,
      ],
    ),
    [["call", "http://127.0.0.1:1", "add", "1e400"], /1e400 would be rounded to Infinity/],
    [["notify"], /notify needs an address/],
    [["stream", "http://127.0.0.1:1"], /stream needs a method/],
    [["batch", "http://127.0.0.1:1"], /batch needs a file/],
    [["batch", "http://127.0.0.1:1", "/nowhere"], /no such file/],
    [["bench", "http://127.0.0.1:1", "add", "--rate", "fast"], /--rate must be a number/],
    [["bench", "http://127.0.0.1:1", "add", "--duration", "1h"], /--duration must be a time/],
    [["bench", "http://127.0.0.1:1", "add", "-c", "0"], /--connections must be an integer/],
    [["inspect"], /inspect needs an address/],
    [["repl", "http://127.0.0.1:1", "x"], /unexpected argument "x"/],
  ])("callwire %j is a mistake, with exit code 2", async (args, line) => {
    const { code, stdout, stderr } = await finish(args);
    expect(stderr).toMatch(line);
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});

describe("Ctrl-C", () => {
  test.each(["http", "ws"])("cancels the call at the server, over %s", async (wire) => {
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    const cancelled = new Promise<unknown>((resolve) => {
      onCancelled = resolve;
    });
    const url = wire === "http" ? http.url : `${http.url.replace(/^http/, "ws")}/ws`;
    await using call = start(["call", url, "hang"]);
    await begun;
    call.child.kill("SIGINT");
    expect(await cancelled).toBeInstanceOf(Error);
    const { code, stdout, stderr } = await call.exited;
    expect(stderr).toMatch(/^callwire: hang was cancelled after [\d.]+ s\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(130);
  });
});

describe("notify", () => {
  test.each(["http", "tcp"])("is received and not answered, over %s", async (wire) => {
    const message = `told over ${wire}`;
    const url = wire === "http" ? rpc : tcp;
    const told = await finish(["notify", url, "notify_log", `message=${message}`]);
    expect(told).toEqual({ code: 0, stdout: "", stderr: "" });
    await demo.shown(new RegExp(`notify_log .*${message}`), "stderr");
  });
});
