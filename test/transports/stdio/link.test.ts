import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, createServer, silentLog } from "callwire";
import type { Connection } from "callwire/connection";
import { type ProcessOptions, spawnConnection, stdioLink } from "callwire/stdio";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Attempts } from "../attempts.ts";
import { bundle } from "../bundle.ts";

const tool = bundle(new URL("./fixtures/tool.ts", import.meta.url));
const program = bundle(new URL("./fixtures/parent.ts", import.meta.url));
const leaving = bundle(new URL("./fixtures/leaving-parent.ts", import.meta.url));

async function connect(options: ProcessOptions = {}, ...args: string[]): Promise<Connection> {
  const connection = await spawnConnection(process.execPath, [tool, ...args], {
    stderr: "ignore",
    log: silentLog,
    ...options,
  });
  onTestFinished(() => connection.close());
  return connection;
}

function isAlive(pid: unknown): boolean {
  try {
    return process.kill(pid as number, 0);
  } catch {
    return false;
  }
}

async function untilGone(pid: unknown): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("a child that dies", () => {
  test("fails what is open with its exit code and its last output", async () => {
    const connection = await connect();
    const calls = Promise.allSettled([connection.call("hang"), connection.call("die", [3])]);
    for (const outcome of await calls) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: {
          name: "WireError",
          code: "CONNECTION_LOST",
          message: `${process.execPath} exited with code 3; its last output: these are my last words`,
        },
      });
    }
    expect(await connection.closed).toBeInstanceOf(Error);
  });

  test("by a signal says which", async () => {
    const connection = await connect();
    await expect(connection.call("kill", ["SIGKILL"])).rejects.toThrow("was killed by SIGKILL");
  });

  test("reveals no more than the tail of its output", async () => {
    const heard: Uint8Array[] = [];
    const connection = await connect({ stderr: (chunk) => void heard.push(chunk) });
    await connection.call("complain", [`first${"é".repeat(5000)}\n`]);
    const error = (await connection.call("die", [1]).catch((error: unknown) => error)) as Error;
    expect(error.message).not.toContain("first");
    expect(error.message).toMatch(/é\nthese are my last words$/);
    expect(Buffer.byteLength(error.message)).toBeLessThan(2_300);
    expect(Buffer.concat(heard).toString()).toMatch(/^first.*last words\n$/s);
  });

  test("after it has answered: the answer counts", async () => {
    const connection = await connect();
    const answers = Array.from({ length: 100 }, (_, i) => connection.call("echo", [i]));
    const last = connection.call("die", [0]);
    await expect(last).rejects.toThrow("exited with code 0");
    expect(await Promise.all(answers)).toHaveLength(100);
  });

  test("in part, by closing its output, is ended", async () => {
    const connection = await connect();
    const pid = await connection.call("pid");
    await expect(connection.call("mute")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await untilGone(pid);
  });
});

describe("a program that cannot be started", () => {
  test("fails the call and is named", async () => {
    // The system reports a folder in the PATH that it may not read before it reports that a program
    // does not exist.
    const folder = mkdtempSync(join(tmpdir(), "callwire-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    vi.stubEnv("PATH", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const client = createClient(stdioLink("no-such-program", ["x"], { reconnect: false }));
    await expect(client.call("echo")).rejects.toMatchObject({
      name: "WireError",
      code: "CONNECTION_FAILED",
      message: "cannot start no-such-program: spawn no-such-program ENOENT",
    });
  });

  test.skipIf(process.platform === "win32")(
    "for lack of a right is told with that reason",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "callwire-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const path = join(folder, "program");
      writeFileSync(path, "", { mode: 0o644 });
      await expect(spawnConnection(path)).rejects.toMatchObject({
        code: "CONNECTION_FAILED",
        message: `cannot start ${path}: spawn ${path} EACCES`,
      });
    },
  );

  test("for its arguments is the same", async () => {
    await expect(spawnConnection(process.execPath, ["a\0b"])).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
  });
});

describe("a child", () => {
  test("is started without a shell: its arguments are what they are", async () => {
    const args = ["; echo $HOME", "$(id)", "a b", '"', "*"];
    expect(await (await connect({}, ...args)).call("args")).toEqual(args);
  });

  test("gets the environment that it needs, and what is added, but no secrets", async () => {
    vi.stubEnv("SECRET_TOKEN", "hidden");
    onTestFinished(() => void vi.unstubAllEnvs());
    const connection = await connect({ env: { EXTRA: "given" } });
    const env = (await connection.call("env")) as NodeJS.ProcessEnv;
    expect(env).toMatchObject({ PATH: process.env["PATH"], EXTRA: "given" });
    expect(env).not.toHaveProperty("SECRET_TOKEN");
    expect(Object.keys(env).length).toBeLessThan(14);
  });

  test("is started in the given directory", async () => {
    const cwd = realpathSync(tmpdir());
    expect(await (await connect({ cwd })).call("cwd")).toBe(cwd);
  });

  test("may print lines that are not messages", async () => {
    const connection = await connect({}, "banner");
    expect(await connection.call("echo", ["hi"])).toBe("hi");
  });

  test("calls its parent", async () => {
    const service = createServer({ answer: () => 42 });
    expect(await (await connect({ service })).call("ask")).toBe(42);
  });
});

describe("a link that closes", () => {
  test("ends its child by closing its input", async () => {
    const connection = await connect();
    const pid = await connection.call("pid");
    await connection.close();
    expect(isAlive(pid)).toBe(false);
    expect(await connection.closed).toBeUndefined();
  });

  test("sends SIGTERM to a child that keeps running", async () => {
    const connection = await connect({ killAfterMs: 50 }, "stubborn");
    const pid = await connection.call("pid");
    await connection.close();
    expect(isAlive(pid)).toBe(false);
  });

  test("kills a child that ignores both", async () => {
    const connection = await connect({ killAfterMs: 50 }, "deaf");
    const pid = await connection.call("pid");
    const call = expect(connection.call("hang")).rejects.toMatchObject({ code: "CLOSED" });
    await connection.close();
    await call;
    expect(isAlive(pid)).toBe(false);
  });

  test("lets the child finish reading what was sent", async () => {
    const heard: Uint8Array[] = [];
    const stderr = (chunk: Uint8Array) => void heard.push(chunk);
    // On a busy machine it may take long to start, and to read.
    const connection = await connect({ stderr, killAfterMs: 60_000 });
    for (let i = 0; i < 1000; i++) connection.notify("complain", [`${i} `]);
    await connection.close();
    const numbers = Array.from({ length: 1000 }, (_, i) => `${i} `);
    expect(Buffer.concat(heard).toString()).toBe(`${numbers.join("")}closed\n`);
  });
});

test.each([
  ["content-length", "Listening", "A header line is not of the form 'Name: value'."],
  ["newline", "HTTP/1.1 200 OK", "The peer speaks HTTP."],
] as const)("a child that spoils %s framing is named in the error", async (framing, line, why) => {
  const script = `console.log(${JSON.stringify(line)}); process.stdin.resume()`;
  const connection = await spawnConnection(process.execPath, ["-e", script], { framing });
  const message = `${process.execPath} printed what is not a message: ${why}`;
  expect(await connection.closed).toMatchObject({ message });
});

test("a child that prints calls and reads nothing is disconnected before the answers fill memory", async () => {
  const flood = `
    const lines = "banner\\n".repeat(5000);
    const print = () => process.stdout.write(lines, print);
    print();
  `;
  const connection = await spawnConnection(process.execPath, ["-e", flood], {
    service: createServer({}, { log: silentLog }),
    log: silentLog,
    killAfterMs: 0,
  });
  await expect(
    connection.call("m", [], { timeoutMs: Number.POSITIVE_INFINITY }),
  ).rejects.toMatchObject({ code: "CONNECTION_LOST", message: "the peer does not read" });
  await connection.closed;
});

test("a child with killAfterMs: Infinity gets no signal", async () => {
  const heard: Uint8Array[] = [];
  const stderr = (chunk: Uint8Array) => void heard.push(chunk);
  const slow = `process.stdin.resume().on("end", () => process.stderr.write("end"))`;
  const connection = await spawnConnection(process.execPath, ["-e", slow], {
    stderr,
    killAfterMs: Number.POSITIVE_INFINITY,
  });
  await connection.close();
  expect(Buffer.concat(heard).toString()).toBe("end");
});

test("a parent that exits takes its child with it", async () => {
  const { stdout, status } = spawnSync(process.execPath, [program, tool, "stubborn"], {
    encoding: "utf8",
  });
  expect(status).toBe(7);
  expect(Number(stdout)).toBeGreaterThan(0);
  await untilGone(stdout);
});

// No shell there starts a program and prints its pid.
test.skipIf(process.platform === "win32")(
  "a parent that closed its link does not wait for what its child left behind",
  () => {
    const { stdout, status } = spawnSync(process.execPath, [leaving], {
      encoding: "utf8",
      // Much less than the unread data takes, and more than a busy machine does.
      timeout: 50_000,
    });
    process.kill(Number(stdout));
    expect(status).toBe(0);
  },
);

describe("reconnecting", () => {
  test("a child that died is started again for the next call", async () => {
    const link = stdioLink(process.execPath, [tool], {
      stderr: "ignore",
      reconnect: { delayMs: 1 },
    });
    await using client = createClient(link);
    const pid = await client.call("pid");
    await expect(client.call("die", [1])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    const next = await client.call("pid");
    expect(next).not.toBe(pid);
    expect(isAlive(pid)).toBe(false);
  });

  test("a child that dies at its start is not started forever", async () => {
    let starts = 0;
    const attempts = new Attempts(2);
    const script = 'console.error("no licence"); process.exit(9)';
    const link = stdioLink(process.execPath, ["-e", script], {
      stderr: () => void starts++,
      reconnect: attempts.options,
    });
    await using client = createClient(link);
    await expect(client.call("echo")).rejects.toThrow(
      /exited with code 9; its last output: no licence$/,
    );
    await attempts.over();
    expect(starts).toBe(3);
  });
});

const python =
  ["python3", "python"].find((name) => spawnSync(name, ["--version"]).status === 0) ?? "";
const script = (name: string): string =>
  fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

describe.skipIf(python === "")("Python (needs python3)", () => {
  test("the server of the first documents is called as it was printed", async () => {
    await using client = createClient(stdioLink(python, [script("stdio_server.py")]));
    expect(await client.call("paritosh/echo", { message: "local call" })).toBe(
      "[Paritosh] local call",
    );
    await expect(client.call("no/such")).rejects.toMatchObject({ code: -32601 });
  });

  test("a child that asks its parent, as printed, gets its answer", async () => {
    const service = createServer({ add: (a: number, b: number) => a + b });
    let said = "";
    const connection = await spawnConnection(python, [script("asking_child.py")], {
      service,
      stderr: (chunk) => {
        said += Buffer.from(chunk).toString();
      },
    });
    await connection.closed;
    expect(JSON.parse(said)).toEqual({ jsonrpc: "2.0", result: 5, id: 1 });
  });

  test("the client of the first documents calls this server", () => {
    const client = `
import subprocess, json

proc = subprocess.Popen(
    ${JSON.stringify([process.execPath, tool])},
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)

req = {"jsonrpc":"2.0","method":"echo","params":["local call"],"id":777}
proc.stdin.write(json.dumps(req) + "\\n")
proc.stdin.flush()

print(proc.stdout.readline().strip())
proc.terminate()
`;
    const printed = execFileSync(python, ["-c", client], { encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual({ jsonrpc: "2.0", result: "local call", id: 777 });
  });
});
