import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ConformanceReport } from "callwire/testing";
import { conformanceCases } from "callwire/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../full.ts";
import { build, cli, finish, type Process, start, startDemo } from "./process.ts";

let folder: string;
let demo: Process & { readonly origin: string };

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-conform-"));
  demo = await startDemo(["--tcp", "0", "--unix", join(folder, "demo.sock")]);
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const long = 60_000;
/** A server that answers everything is never waited for that long, however busy the machine is. */
const patient = ["--timeout", "30000ms"];

/** The kit itself is tested on every wire in test/testing; this tests whether the command reaches the server. */
const part = isFull ? [] : ["--group", "core", "--group", "framing"];

/** A server that answers each line with this, or not at all. */
async function listening(
  answer: (line: string) => string | undefined,
): Promise<Server & { url: string }> {
  const server = createServer((socket) => {
    const lines = createInterface(socket).on("line", (line) => {
      const reply = answer(line);
      if (reply !== undefined) socket.write(`${reply}\n`);
    });
    // A client that has received enough disconnects.
    lines.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(server, { url });
}

describe("callwire conform passes the demo", () => {
  test(
    "over HTTP, with a table and without colours in a pipe",
    async () => {
      const { code, stdout, stderr } = await finish(["conform", `${demo.origin}/rpc`, ...patient]);
      expect(stdout).toMatch(/^ {2}core +\d+\/\d+/m);
      expect(stdout).toMatch(
        /^Conforms: (\d+) of \1 MUST, (\d+) of \2 SHOULD, (\d+) of \3 hygiene/m,
      );
      expect(stdout).not.toContain("\u001b");
      expect(stderr).toBe("");
      expect(code).toBe(0);
    },
    long,
  );

  test(
    "over WebSocket",
    async () => {
      const url = `${demo.origin.replace("http", "ws")}/rpc/ws`;
      const { code, stdout } = await finish(["conform", url, ...patient, ...part]);
      expect(stdout).toContain("Conforms:");
      expect(code).toBe(0);
    },
    long,
  );

  test(
    "over TCP and a unix socket",
    async () => {
      const [, tcp] = await demo.shown(/TCP +(\S+)/);
      for (const url of [`tcp://${tcp}`, `unix:${join(folder, "demo.sock")}`]) {
        const { code, stdout } = await finish(["conform", url, ...patient, ...part]);
        expect(stdout).toContain("Conforms:");
        expect(code).toBe(0);
      }
    },
    long,
  );

  // The kit itself is run over stdio by test/testing/own-servers.test.ts.
  if (isFull)
    test(
      "over stdio",
      async () => {
        const url = `stdio:${process.execPath} ${cli} demo --stdio --framing content-length`;
        const { code, stdout } = await finish([
          "conform",
          url,
          "--framing",
          "content-length",
          ...patient,
          ...part,
        ]);
        expect(stdout).toContain("Conforms:");
        expect(code).toBe(0);
      },
      long,
    );
});

describe("callwire conform", () => {
  test("explains what failed, and ends with 1 when that is a MUST", async () => {
    await using server = await listening((line) => {
      const id = JSON.parse(line).id || 1;
      return `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":${id}}`;
    });
    const args = ["conform", server.url, "--case", "ids/zero", ...patient];
    const { code, stdout } = await finish(args);
    expect(stdout).toContain("FAIL MUST ids/zero  The id 0 comes back");
    expect(stdout).toContain("why  the id is 1, expected 0");
    expect(stdout).toContain('sent {"jsonrpc":"2.0","method":"conformance.absent","id":0}');
    expect(stdout).toMatch(
      /got {2}\{"jsonrpc":"2.0","error":\{"code":-32601,"message":"no"\},"id":1\}/,
    );
    expect(stdout).toMatch(/spec The id of a response .*\(JSON-RPC 2\.0, 4 and 5\)/);
    expect(stdout).toMatch(/^Does not conform: 0 of 1 MUST/m);
    expect(code).toBe(1);
  });

  test("ends with 0 when only a SHOULD fails", async () => {
    const args = [
      "conform",
      `${demo.origin}/rpc`,
      "--level",
      "should,hygiene",
      "--group",
      "ids",
      "--group",
      "params",
    ];
    const { code, stdout } = await finish([...args, "--fixture", "add=echo", ...patient]);
    expect(stdout).toContain("fail SHOULD params/by-name");
    expect(code).toBe(0);
  });

  test("says that a silent server is silent", async () => {
    await using server = await listening(() => undefined);
    const { code, stdout } = await finish(["conform", server.url, "--timeout", "200ms"]);
    expect(stdout).toContain("The server does not answer");
    expect(code).toBe(1);
  });

  test("ends with 3 when there is no server", async () => {
    const { code, stdout, stderr } = await finish(["conform", "http://127.0.0.1:1/"]);
    expect(stderr).toMatch(/^callwire: no connection to http:\/\/127\.0\.0\.1:1\/: .*ECONNREFUSED/);
    expect(stdout).toBe("");
    expect(code).toBe(3);
  });

  test.each([
    [[], "conform needs an address"],
    [["localhost:8000"], '"localhost:8000" is not an address'],
    [["http://localhost", "more"], 'unexpected argument "more"'],
    [["http://localhost", "--group", "nothing"], 'unknown --group "nothing"; known are core, ids'],
    [
      ["http://localhost", "--level", "MAY"],
      'unknown --level "MAY"; known are MUST, SHOULD, hygiene',
    ],
    [["http://localhost", "--case", "ids/none"], 'unknown --case "ids/none"; --list shows them'],
    [["http://localhost", "--fixture", "sum=add"], "--fixture must be name=method"],
    [["http://localhost", "--timeout", "soon"], "--timeout must be a time such as 500ms, 5s or 2m"],
    [["http://localhost", "-H", "nonsense"], '--header must be "name: value"'],
    [["tcp://localhost:1", "--framing", "morse"], "--framing must be newline"],
  ])("with %j ends with 2", async (args, sentence) => {
    const { code, stderr } = await finish(["conform", ...args]);
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
  });

  test("gives the report as JSON", async () => {
    const args = ["conform", `${demo.origin}/rpc`, "--group", "ids", "--json", ...patient];
    const { code, stdout } = await finish(args);
    const report = JSON.parse(stdout) as ConformanceReport;
    expect(report).toMatchObject({ ok: true, state: "finished", wire: "HTTP" });
    expect(report.results.every(({ case: { group } }) => group === "ids")).toBe(true);
    expect(code).toBe(0);
  });

  test("writes JUnit XML and a badge", async () => {
    const [junit, badge] = [join(folder, "report.xml"), join(folder, "badge.json")];
    const args = ["conform", `${demo.origin}/rpc`, "--group", "ids", "--junit", junit, ...patient];
    await finish([...args, "--badge", badge]);
    expect(await readFile(junit, "utf8")).toMatch(/^<\?xml .*\n<testsuites name="HTTP http:/);
    expect(JSON.parse(await readFile(badge, "utf8"))).toMatchObject({
      schemaVersion: 1,
      message: "15 of 15 MUST",
    });
    const nowhere = await finish([...args, "--badge", join(folder, "no", "badge.json")]);
    expect(nowhere.stderr).toContain("cannot be written");
    expect(nowhere.code).toBe(2);
  });

  test("lists the cases without a server", async () => {
    const { code, stdout } = await finish(["conform", "--list"]);
    expect(stdout.trim().split("\n")).toHaveLength(conformanceCases.length);
    expect(code).toBe(0);
    const ids = await finish(["conform", "--list", "--group", "ids", "--level", "hygiene"]);
    expect(ids.stdout).toMatch(/^ids\/overflow +hygiene +A number beyond .*\n$/);
    const json = await finish(["conform", "--list", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual(conformanceCases);
  });

  test("stops at Ctrl-C, and shows what it knows", async () => {
    const heard = createServer();
    heard.on("connection", (socket) => socket.on("error", () => {}));
    heard.listen(0, "127.0.0.1");
    await once(heard, "listening");
    const { port } = heard.address() as AddressInfo;
    await using conform = start(["conform", `tcp://127.0.0.1:${port}`, "--timeout", "60000ms"]);
    const [socket] = await once(heard, "connection");
    await once(socket, "data");
    conform.child.kill("SIGINT");
    const { code, stdout } = await conform.exited;
    expect(stdout).toContain("Stopped:");
    expect(code).toBe(130);
    socket.destroy();
    heard.close();
  });
});

describe("what makes no sense to run is one failure", () => {
  test("a path that does not take calls", async () => {
    const { code, stdout, stderr } = await finish(["conform", `${demo.origin}/wrong`]);
    expect(stderr).toBe(
      `callwire: ${demo.origin}/wrong does not answer with JSON-RPC, but HTTP 404 application/json; try ${demo.origin}/rpc\n`,
    );
    expect(stdout).toBe("");
    expect(code).toBe(1);
  });

  test("a port with another protocol", async () => {
    const url = demo.origin.replace("http", "tcp");
    const { code, stderr } = await finish(["conform", url]);
    expect(stderr).toBe(`callwire: ${url}: the port speaks HTTP; try ${demo.origin}/rpc\n`);
    expect(code).toBe(3);
  });

  test.each(["--junit", "--badge"])("%s in a folder that is not there", async (flag) => {
    const file = join(folder, "nowhere", "file");
    // Reported before anything is sent: there is no server.
    expect(await finish(["conform", "tcp://127.0.0.1:1", flag, file])).toEqual({
      code: 2,
      stdout: "",
      stderr: `callwire: ${file} cannot be written: no such folder: ${join(folder, "nowhere")}\n`,
    });
  });
});
