import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { describeWith } from "../services.ts";
import { build, cli, finish, Process, start, startDemo } from "./process.ts";

beforeAll(build);

async function call(origin: string, method: string, params: unknown = []): Promise<void> {
  await fetch(`${origin}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 }),
  });
}

interface Look {
  methods: {
    method: string;
    calls: number;
    errors: number;
    callsPerSecond?: number;
    p50Ms: number;
    p99Ms: number;
  }[];
  totals: Record<string, number>;
}

describe("callwire top", () => {
  test("--once shows the totals of each method", async () => {
    await using demo = await startDemo();
    for (let i = 0; i < 4; i++) await call(demo.origin, "add", [2, 3]);
    await call(demo.origin, "add", { a: "no number" });
    await call(demo.origin, "made/up");
    const shown = await finish(["top", demo.origin, "--once"]);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain("6 calls, 2 errors since the server started");
    expect(shown.stdout).toMatch(/^add +- +- +<?[\d.-]+ ms +<?[\d.-]+ ms +5 +1$/m);
    expect(shown.stdout).toMatch(/^\(unknown\) .* 1 +1$/m);
    const read = await finish(["top", `${demo.origin}/rpc`, "--once", "--json"]);
    const { methods, totals } = JSON.parse(read.stdout) as Look;
    expect(methods[0]).toMatchObject({ method: "add", calls: 5, errors: 1 });
    expect(totals.calls_in_flight).toBe(0);
  });

  test("shows only a bound for the first and the last bucket", async () => {
    const buckets = (method: string, counts: Record<string, number>): string =>
      Object.entries(counts)
        .map(
          ([le, n]) => `callwire_call_duration_seconds_bucket{method="${method}",le="${le}"} ${n}`,
        )
        .join("\n");
    const text = [
      "callwire_calls_in_flight 0",
      'callwire_calls_total{method="quick"} 10',
      buckets("quick", { "0.0001": 10, "0.01": 10, "+Inf": 10 }),
      'callwire_calls_total{method="slow"} 4',
      buckets("slow", { "0.0001": 0, "0.01": 2, "+Inf": 4 }),
      'callwire_request_size_characters_bucket{le="64"} 3',
      'callwire_request_size_characters_bucket{le="+Inf"} 14',
      "callwire_request_size_characters_sum 500",
    ].join("\n");
    const other = createServer((_, response) => response.end(text)).listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { stdout: table } = await finish(["top", address, "--once"]);
    expect(table).toMatch(/^quick +- +- +<0\.1 ms +<0\.1 ms +10 +0$/m);
    expect(table).toMatch(/^slow +- +- +0\.1-10 ms +>10 ms +4 +0$/m);
    const { stdout: json } = await finish(["top", address, "--once", "--json"]);
    other.close();
    const quick = { method: "quick", calls: 10, errors: 0 };
    const slow = { method: "slow", calls: 4, errors: 0 };
    expect(JSON.parse(json)).toEqual({
      methods: [
        { ...quick, p50Ms: 0.1, p50RangeMs: [0, 0.1], p99Ms: 0.1, p99RangeMs: [0, 0.1] },
        { ...slow, p50Ms: 10, p50RangeMs: [0.1, 10], p99Ms: 10, p99RangeMs: [10, null] },
      ],
      totals: { calls_in_flight: 0, request_size_characters_sum: 500 },
    });
  });

  test("it continues, with rates between two looks", async () => {
    await using demo = await startDemo();
    await call(demo.origin, "add", [2, 3]);
    await using top = start(["top", demo.origin, "--interval", "0.1s", "--json"]);
    await top.shown(/\n/);
    for (let i = 0; i < 10; i++) await call(demo.origin, "add", [2, 3]);
    await top.shown(/"calls":11/);
    await top.shown(/"calls":11[^\n]*\n.*"calls":11/s);
    const looks = top.stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as Look).methods[0]);
    expect(looks.some((look) => (look?.callsPerSecond ?? 0) > 0)).toBe(true);
    expect(looks.at(-1)?.calls).toBe(11);
    top.child.kill("SIGINT");
    expect((await top.exited).code).toBe(0);
  });

  describeWith(["pseudo-terminals"], "in a terminal", () => {
    test("no line is wider than the terminal", async () => {
      await using demo = await startDemo();
      await call(demo.origin, "add", [2, 3]);
      const line = `stty cols 40 rows 12; '${process.execPath}' '${cli}' top ${demo.origin} --interval 0.1s`;
      const args = ["--quiet", "--return", "--command", line, "/dev/null"];
      await using top = new Process("script", args, { env: { NO_COLOR: "1", TERM: "xterm" } });
      const [screen] = await top.shown(/.\[Hhttp.*?\[J/s);
      // Sequences that clear and move take no space.
      const lines = screen.replace(/.\[[HJK]/g, "").split("\r\n");
      expect(lines[1]).toMatch(/^in flight 0, connections \d, streams 0, q$/);
      expect(Math.max(...lines.map(({ length }) => length))).toBe(40);
    });
  });

  test("it looks again only after the interval", async () => {
    let looks = 0;
    const server = createServer((_, response) => {
      looks++;
      response.setHeader("content-type", "text/plain").end("callwire_calls_in_flight 0\n");
    });
    const looked = new Promise((resolve) => server.once("request", resolve));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    await using top = start(["top", url, "--interval", "60m"]);
    await looked;
    // Takes longer than another update would.
    await finish(["top", url, "--once"]);
    top.child.kill("SIGINT");
    expect((await top.exited).stderr).toContain("stopped before the first update");
    expect(looks).toBe(2);
  });

  test("a page that breaks off is one line", async () => {
    const cut = createServer((_, response) => {
      response.write("callwire_calls_in_flight 0\n", () => response.destroy());
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => cut.once("listening", resolve));
    const address = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await finish(["top", address, "--once"]);
    cut.close();
    expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  });

  test("a page that it cannot read is reported in one line", async () => {
    const port = await ownPort();
    const other = createServer((_, response) => response.end("hello")).listen(port, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const strange = await finish(["top", `http://127.0.0.1:${port}`, "--once"]);
    other.close();
    expect(strange).toMatchObject({ code: 1 });
    expect(strange.stderr).toMatch(/does not have metrics of callwire\n$/);
    const gone = await finish(["top", `http://127.0.0.1:${port}`, "--once"]);
    expect(gone.code).toBe(3);
    expect(gone.stderr.trim().split("\n")).toHaveLength(1);
    expect((await finish(["top"])).code).toBe(2);
    expect((await finish(["top", "ws://x", "--once"])).code).toBe(2);
    expect((await finish(["top", "http://x", "--interval", "no"])).code).toBe(2);
  });
});
