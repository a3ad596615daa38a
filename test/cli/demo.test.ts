import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { json, send } from "../transports/http/wire.ts";
import { build, cli, Process, start, startDemo } from "./process.ts";

const run = promisify(execFile);
const has = (command: string): boolean => spawnSync(command, ["--version"]).status === 0;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-demo-"));
  await build();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const add = `{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}`;
const five = { jsonrpc: "2.0", result: 5, id: 1 };

async function post(url: string, body: string): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  return response.json();
}

/** Sends a line over a socket and returns the line that comes back. */
async function ask(target: { port: number } | { path: string }, sent: string): Promise<unknown> {
  const socket = connect({ host: "127.0.0.1", ...target } as never);
  socket.write(`${sent}\n`);
  const [line] = (await once(createInterface(socket), "line")) as [string];
  socket.destroy();
  return JSON.parse(line);
}

/** The first line that arrives on a socket, which is then closed. */
async function statusLine(socket: Socket): Promise<string> {
  const [line] = (await once(createInterface(socket), "line")) as [string];
  socket.destroy();
  return line;
}

/** The network of interfaces that other tests create and remove meanwhile. */
const comesAndGoes = "198.18.";

describe("what it says at the start", () => {
  test("--port 0 takes a free port and shows it", async () => {
    await using demo = await startDemo();
    expect(await post(`${demo.origin}/rpc`, add)).toEqual(five);
    expect(demo.stderr).toBe("");
    // The page, the metrics, and MCP, which refuses GET without a session.
    const paths = ["/", "/metrics", "/mcp", "/other"];
    const replies = await Promise.all(paths.map((path) => fetch(demo.origin + path)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 405, 404]);
  });

  test("--port and --host are where it listens", async () => {
    const port = await ownPort();
    await using demo = start(["demo", "--port", String(port), "--host", "localhost"]);
    await demo.shown(new RegExp(`http://localhost:${port}/rpc`));
    expect(await post(`http://localhost:${port}/rpc`, add)).toEqual(five);
  });

  test("a wildcard address answers to the names of this machine and to no other", async () => {
    await using demo = start(["demo", "--port", "0", "--host", "0.0.0.0"]);
    const [origin] = await demo.shown(/http:\/\/127\.0\.0\.1:\d+/);
    expect(await post(`${origin}/rpc`, add)).toEqual(five);
    const socket = connect({ port: Number(new URL(origin).port), host: "127.0.0.1" });
    socket.write(
      `POST /rpc HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: ${add.length}\r\n\r\n${add}`,
    );
    expect(await statusLine(socket)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("a wildcard address is a warning, with the addresses for other machines", async () => {
    await using near = await startDemo();
    await near.shown(/Ctrl-C/);
    expect(near.stdout).not.toContain("Everyone");
    await using demo = start(["demo", "--port", "0", "--host", "0.0.0.0"]);
    const [, port = ""] = await demo.shown(/127\.0\.0\.1:(\d+)/);
    await demo.shown(/Ctrl-C/);
    const named = Array.from(demo.stdout.matchAll(/^ {2}http:\/\/([\d.]+):(\d+)\/rpc$/gm));
    expect(demo.stdout.includes("Everyone in your network can call this server")).toBe(
      named.length > 0,
    );
    const lasting = (address: string): boolean => !address.startsWith(comesAndGoes);
    const others = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4")
      .map(({ address }) => `${address}:${port}`)
      .filter(lasting);
    expect(named.map(([, host, at]) => `${host}:${at}`).filter(lasting)).toEqual(others);
    for (const address of others) {
      expect(await post(`http://${address}/rpc`, add)).toEqual(five);
    }
  });

  test("the name of a service is refused with the option that allows it, as the banner says", async () => {
    await using demo = start(["demo", "--port", "0", "--host", "0.0.0.0"]);
    const [, port = ""] = await demo.shown(/127\.0\.0\.1:(\d+)/);
    await demo.shown(/Ctrl-C/);
    const hasNetwork = demo.stdout.includes("Everyone in your network");
    expect(demo.stdout.includes("get 403 until --hosts lists them")).toBe(hasNetwork);
    const { status, text } = await send(Number(port), {
      headers: { ...json, host: "users.prod.svc" },
      body: add,
    });
    expect([status, JSON.parse(text).error.data]).toEqual([
      403,
      expect.stringMatching(/users\.prod\.svc; see the hosts option \(--hosts\)/),
    ]);
  });

  test("--hosts and --origins allow more", async () => {
    await using demo = await startDemo([
      ...["--hosts", "api.example, rpc.example:80"],
      ...["--origins", "https://app.example"],
    ]);
    const status = async (headers: Record<string, string>): Promise<string> => {
      const socket = connect({ port: Number(new URL(demo.origin).port), host: "127.0.0.1" });
      const own = { host: "localhost", "content-type": "application/json", ...headers };
      const head = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(
        `POST /rpc HTTP/1.1\r\n${head.join("")}Content-Length: ${add.length}\r\n\r\n${add}`,
      );
      return (await statusLine(socket)).slice(9, 12);
    };
    expect(await status({})).toBe("200");
    expect(await status({ host: "api.example" })).toBe("200");
    expect(await status({ host: "api.example:8000" })).toBe("200");
    expect(await status({ host: "rpc.example:80" })).toBe("200");
    expect(await status({ host: "rpc.example" })).toBe("403");
    expect(await status({ origin: "https://app.example" })).toBe("200");
    expect(await status({ origin: "https://evil.example" })).toBe("403");
  });

  test("every page in the banner exists", async () => {
    await using demo = await startDemo();
    await demo.shown(/Ctrl-C/);
    const pages = Array.from(demo.stdout.matchAll(/^ {2}(\w+) +(http:\S+)/gm));
    expect(pages.map(([, name]) => name)).toEqual(
      expect.arrayContaining(["Playground", "HTTP", "SSE", "MCP", "Metrics", "Health"]),
    );
    for (const [, name, url = ""] of pages) {
      const { status } = await fetch(url);
      expect({ name, isThere: status !== 404 }).toEqual({ name, isThere: true });
    }
  });

  test("every line to try works when it is pasted", async () => {
    await using demo = await startDemo();
    await demo.shown(/Ctrl-C/);
    const lines = demo.stdout.split("\n").filter((line) => line.startsWith("  curl "));
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const output = await paste(line.trim());
      if (line.includes("/stream")) {
        expect(output).toMatch(/^data: \{"jsonrpc":"2\.0","result":.*\}$/m);
        expect(output).toMatch(/^data: \[DONE\]$/m);
        expect(output).not.toContain('"error"');
      } else {
        expect(JSON.parse(output)).toHaveProperty("result");
      }
    }
  });

  test("a pipe gets no colours", async () => {
    await using demo = await startDemo();
    await demo.shown(/Ctrl-C/);
    expect(demo.stdout).not.toContain("\u001b");
  });

  const pty = "import pty, sys; pty.spawn(sys.argv[1:])";
  const command = [process.execPath, cli, "demo", "--port", "0"];
  /** In a terminal of its own, with nothing in the environment that speaks of colours. */
  const inTerminal = (...variables: string[]): Process =>
    new Process("env", [
      ...["-i", `PATH=${process.env.PATH}`, "TERM=xterm-256color", ...variables],
      ...["python3", "-c", pty, ...command],
    ]);

  test.skipIf(!has("python3"))("a terminal gets colours (needs python3)", async () => {
    await using demo = inTerminal();
    await demo.shown(/Ctrl-C/);
    expect(demo.stdout).toContain("\u001b[");
  });

  test.skipIf(!has("python3"))("NO_COLOR is obeyed (needs python3)", async () => {
    await using demo = inTerminal("NO_COLOR=1");
    await demo.shown(/Ctrl-C/);
    expect(demo.stdout).not.toContain("\u001b[");
  });
});

/** Runs a curl line in a shell, or makes the same request with fetch. */
async function paste(line: string): Promise<string> {
  if (has("curl")) return (await run("sh", ["-c", line.replace(/^curl /, "curl -sS ")])).stdout;
  const [, url = ""] = /(https?:[^\s']+)/.exec(line) ?? [];
  const [, body] = / -d '(.*)'$/.exec(line) ?? [];
  if (body === undefined) return (await fetch(url)).text();
  return JSON.stringify(await post(url, body));
}

describe("sockets", () => {
  test("--tcp and --unix serve beside HTTP", async () => {
    const path = join(folder, "demo.sock");
    await using demo = await startDemo(["--tcp", "0", "--unix", path]);
    const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
    await demo.shown(/Ctrl-C/);
    expect(demo.stdout).toContain(path);
    expect(await ask({ port: Number(port) }, add)).toEqual(five);
    expect(await ask({ path }, add)).toEqual(five);
    expect(await post(`${demo.origin}/rpc`, add)).toEqual(five);
  });

  test("--framing is theirs too", async () => {
    await using demo = await startDemo(["--tcp", "0", "--framing", "content-length"]);
    const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
    const socket = connect({ port: Number(port), host: "127.0.0.1" });
    // The server ends its side when this side ends, so the answer is complete.
    socket.end(`Content-Length: ${add.length}\r\n\r\n${add}`);
    const [head, body = ""] = (await text(socket)).split("\r\n\r\n");
    expect(head).toBe(`Content-Length: ${body.length}`);
    expect(JSON.parse(body)).toEqual(five);
  });

  test("the unix socket is removed at the end", async () => {
    const path = join(folder, "removed.sock");
    await using demo = await startDemo(["--unix", path]);
    await demo.shown(/Ctrl-C/);
    expect((await stat(path)).isSocket()).toBe(true);
    demo.child.kill("SIGTERM");
    await demo.exited;
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });
});

describe("stopping", () => {
  test("an idle server stops at once, whatever its methods have begun", async () => {
    await using demo = await startDemo(["--tcp", "0"]);
    const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
    const socket = connect({ port: Number(port), host: "127.0.0.1" });
    socket.write(`{"jsonrpc":"2.0","method":"ticks/start","id":1}\n`);
    await once(socket, "data");
    const ended = once(socket, "close");
    demo.child.kill("SIGINT");
    expect(await demo.exited).toMatchObject({ code: 0, stderr: "" });
    await ended;
  });
});

describe("--stdio", () => {
  test("answers on standard output and says everything else on standard error", async () => {
    await using demo = start(["demo", "--stdio"]);
    const log = `{"jsonrpc":"2.0","method":"notify_log","params":["hello"]}`;
    const fail = `{"jsonrpc":"2.0","method":"trigger_error","params":["secret"],"id":2}`;
    demo.child.stdin?.end(`${add}\n${log}\n${fail}\nnonsense\n`);
    const { code, stdout, stderr } = await demo.exited;
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      five,
      { jsonrpc: "2.0", error: { code: -32603, message: "Internal error" }, id: 2 },
      { jsonrpc: "2.0", error: { code: -32700, message: "Parse error" }, id: null },
    ]);
    expect(stderr).toContain("hello");
    expect(stderr).toContain("secret");
    expect(stderr).not.toContain("http://");
  });

  test("a child of a program writes nothing to stderr", async () => {
    await using demo = start(["demo", "--stdio"]);
    demo.child.stdin?.end(`${add}\n`);
    expect(await demo.exited).toEqual({
      code: 0,
      stdout: `${JSON.stringify(five)}\n`,
      stderr: "",
    });
  });

  test("the end of the input lets a running call finish", async () => {
    await using demo = start(["demo", "--stdio"]);
    demo.child.stdin?.end(`{"jsonrpc":"2.0","method":"slow/work","params":[300],"id":1}\n`);
    const { code, stdout } = await demo.exited;
    expect(code).toBe(0);
    expect(stdout).toContain(`{"jsonrpc":"2.0","result":"worked for 300 ms","id":1}`);
  });

  test("uses Content-Length headers, as editors do", async () => {
    await using demo = start(["demo", "--stdio", "--framing", "content-length"]);
    demo.child.stdin?.end(`Content-Length: ${add.length}\r\n\r\n${add}`);
    const { code, stdout } = await demo.exited;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Content-Length: \d+\r\n\r\n\{/);
    expect(JSON.parse(stdout.slice(stdout.indexOf("{")))).toEqual(five);
  });

  test("also serves HTTP if a port is given", async () => {
    await using demo = start(["demo", "--stdio", "--port", "0"]);
    const [origin] = await demo.shown(/http:\/\/127\.0\.0\.1:\d+/, "stderr");
    expect(await post(`${origin}/rpc`, add)).toEqual(five);
    expect(demo.stdout).toBe("");
  });
});
