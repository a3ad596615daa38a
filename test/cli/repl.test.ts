import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, method } from "callwire";
import { serveHttp } from "callwire/http/node";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { build, cli, type Exit, finish, Process, start, startDemo } from "./process.ts";

let folder: string;
let demo: Process & { readonly origin: string };
let ws: string;

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-repl-"));
  demo = await startDemo();
  ws = `${demo.origin.replace(/^http/, "ws")}/rpc/ws`;
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function piped(url: string, ...lines: string[]): Promise<Exit> {
  await using session = start(["repl", url]);
  session.child.stdin?.end(`${lines.join("\n")}\n`);
  return await session.exited;
}

describe("lines of a pipe", () => {
  test("are calls, one after the other", async () => {
    const exit = await piped(
      ws,
      "slow/work ms=50",
      "math/add a=2 b=3",
      "add 4 5",
      'echo {"message":',
      '  "over lines"}',
      "",
    );
    expect(exit).toEqual({
      code: 0,
      stdout: '"worked for 50 ms"\n5\n9\n"over lines"\n',
      stderr: "",
    });
  });

  test("read streams if the server's document declares them", async () => {
    const { stdout } = await piped(`${demo.origin}/rpc`, "math/count to=2");
    expect(stdout).toBe("0\n1\n2\n");
  });

  test("that are misspelt are reported with the probable name", async () => {
    const { stdout } = await piped(ws, "math/ad 1 2", ".stream math/cont to=2", ".metods", "help");
    expect(stdout.split("\n")).toEqual([
      '-32601 Method not found; did you mean "math/add"?',
      '-32601 Method not found; did you mean "math/count"?',
      "unknown command .metods; did you mean .methods?",
      "-32601 Method not found; did you mean .help?",
      "",
    ]);
  });

  test("that fail are reported, and the exit code is 1", async () => {
    const { code, stdout } = await piped(ws, "nope", "add 1 {", "", ".dance", "add 1 1");
    expect(stdout).toMatch(/^-32601 Method not found$/m);
    expect(stdout).toMatch(/^-32602 Invalid params/m);
    expect(stdout).toMatch(/^unknown command \.dance; see \.help$/m);
    expect(stdout).toMatch(/^2$/m);
    expect(code).toBe(1);
  });

  test("whose last is incomplete JSON get an error", async () => {
    const { code, stdout } = await piped(ws, "add 1 1", 'math/add {"a":1,', '"b":2');
    expect(stdout).toMatch(/^2\nparams: invalid JSON: [^\n]+\n$/);
    expect(code).toBe(1);
  });

  test(".exit leaves the rest unread", async () => {
    expect(await piped(ws, "add 1 1", ".exit", "add 2 2")).toMatchObject({
      code: 0,
      stdout: "2\n",
    });
  });

  test("list methods and their params", async () => {
    const { stdout } = await piped(ws, ".help", ".methods sqrt", ".show math/count");
    expect(stdout).toContain(".methods [text]");
    expect(stdout).toMatch(/^ {2}math\/sqrt {2}Take the square root/m);
    expect(stdout).toMatch(
      /^math\/count \(stream\)\n {2}Count from 0.*\n {2}to +\{"type":"integer"/m,
    );
  });

  test("what the server pushes is shown", async () => {
    await using session = start(["repl", ws]);
    session.child.stdin?.write("ticks/start intervalMs=10\n");
    await session.shown(/^← onTick \{"count":2,/m);
    session.child.stdin?.end("ticks/stop\n");
    expect((await session.exited).code).toBe(0);
  });

  test("end with Ctrl-C: the lines after the stopped call do not run", async () => {
    const called: string[] = [];
    const begun = deferred();
    const server = createServer({
      hang: () => {
        begun.resolve();
        return new Promise(() => {});
      },
      pay: () => called.push("pay"),
    });
    await using http = await serveHttp(server, { port: 0, drainMs: 0 });
    await using session = start(["repl", http.url]);
    // The input stays open, like that of a script that waits for more.
    session.child.stdin?.write("hang\npay\n");
    await begun.promise;
    session.child.kill("SIGINT");
    const { code, stdout } = await session.exited;
    expect({ code, stdout, called }).toEqual({ code: 130, stdout: "cancelled\n", called: [] });
  });

  test("wait for what there is as long as --timeout says", async () => {
    const silent = createHttpServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { code, stderr } = await finish(["repl", url, "--timeout", "50ms"]);
    silent.close();
    expect(stderr).toBe(`callwire: ${url}: rpc.discover did not answer within 0.05 s\n`);
    expect(code).toBe(3);
  });

  test("to a program that dies at once start it once", async () => {
    const starts = join(folder, "starts");
    const program = `require("node:fs").appendFileSync("${starts}","x");process.exit(3)`;
    const { code } = await piped(`stdio:${process.execPath} -e '${program}'`, "add 1 2");
    expect({ code, starts: await readFile(starts, "utf8") }).toEqual({ code: 3, starts: "x" });
  });

  test("no server is exit code 3", async () => {
    const { code, stderr } = await finish(["repl", "ws://127.0.0.1:1"]);
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect(code).toBe(3);
  });
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe.skipIf(!hasPython)("a terminal (needs python3)", () => {
  const pty = "import pty, sys; pty.spawn(sys.argv[1:])";

  /** In a terminal of its own, with a folder for its history. */
  function inTerminal(state: string, ...args: string[]): Process {
    const variables = [`PATH=${process.env.PATH}`, "TERM=xterm", `XDG_STATE_HOME=${state}`];
    const command = ["python3", "-c", pty, process.execPath, cli, ...args];
    return new Process("env", ["-i", ...variables, ...command]);
  }

  /** A number in the colour of results; ports and times have the same digits, and none. */
  const result = (value: number): RegExp => new RegExp(`m${value}\\u001b`);

  test("completes names, keeps a history, and shows errors in colour", async () => {
    const state = join(folder, "state");
    {
      await using session = inTerminal(state, "repl", ws);
      const type = (text: string): void => void session.child.stdin?.write(text);
      await session.shown(/21 methods/);
      await session.shown(/> \S*G$/);
      type("math/mul\t");
      await session.shown(/math\/multiply/);
      type(" a\t");
      await session.shown(/a=/);
      type("6 b=7\r");
      await session.shown(result(42));
      type(" add 1 1\r");
      await session.shown(result(2));
      type("math/sqrt x=-1\r");
      await session.shown(/\[31m-32000 Negative input/);
      type("\u0004");
      expect((await session.exited).code).toBe(0);
    }
    const file = join(state, "callwire", "repl-history");
    // A line that begins with a space is not kept.
    expect(await readFile(file, "utf8")).toBe("math/multiply a=6 b=7\nmath/sqrt x=-1\n");
    expect((await stat(file)).mode & 0o077).toBe(0);
    await using again = inTerminal(state, "repl", ws);
    await again.shown(/> \S*G$/);
    again.child.stdin?.write("\u001b[A\u001b[A\r");
    await again.shown(result(42));
  });

  /** A server whose only call reports progress, and then waits to be cancelled. */
  async function hanging(): Promise<string> {
    const server = createServer({
      add: (a: number, b: number) => a + b,
      hang: method({}, (_, call) => {
        call.progress({ percent: 10 });
        return new Promise(() => {});
      }),
    });
    const { url } = await serveHttp(server, { port: 0 });
    onTestFinished(() => server.close({ drainMs: 0 }));
    return `${url.replace(/^http/, "ws")}/ws`;
  }

  test("Ctrl-C stops the call and not the session", async () => {
    await using session = inTerminal(join(folder, "other"), "repl", await hanging());
    const type = (text: string): void => void session.child.stdin?.write(text);
    await session.shown(/> \S*G$/);
    type("hang\r");
    // Its progress shows that it runs.
    await session.shown(/"percent":10/);
    type("\u0003");
    await session.shown(/cancelled/);
    type("add 20 22\r");
    await session.shown(result(42));
    type("half a line\u0003");
    type("add 30 33\r");
    await session.shown(result(63));
    type("\u0003");
    await session.shown(/Ctrl-C again/);
    type("\u0003");
    expect((await session.exited).code).toBe(0);
  });

  test("Ctrl-D ends the session, also while a call runs", async () => {
    await using session = inTerminal(join(folder, "ended"), "repl", await hanging());
    await session.shown(/> \S*G$/);
    session.child.stdin?.write("hang\r");
    await session.shown(/"percent":10/);
    session.child.stdin?.write("\u0004");
    const { code, stdout } = await session.exited;
    expect(stdout).toMatch(/cancelled\S*\s*$/);
    expect(code).toBe(0);
  });

  test("progress of a call is shown, and its result in colour", async () => {
    await using call = inTerminal(folder, "call", ws, "slow/work", "ms=100");
    const { stdout, code } = await call.exited;
    expect(stdout).toMatch(/█+░* \{"percent":50\}/);
    expect(stdout).toContain('\u001b[32m"worked for 100 ms"');
    expect(code).toBe(0);
  });

  test("a bench shows how it goes", async () => {
    const shown = deferred();
    let calls = 0;
    // The first opens the connection, and after the second there is something to show.
    const held = createServer({
      work: () => (++calls > 2 ? shown.promise : undefined),
    });
    onTestFinished(() => held.close());
    const { url } = await serveHttp(held, { port: 0 });
    await using bench = inTerminal(folder, "bench", url, "work", "-c", "1", "-n", "3");
    await bench.shown(/░ \d+\.\d s .* calls\/s {2}p99 .* 0 failed/);
    shown.resolve();
    const { stdout } = await bench.exited;
    expect(stdout).toMatch(/calls per second/);
  });
});
