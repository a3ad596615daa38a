/** Advisories with a short test. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer, silentLog } from "callwire";
import { auditLog, rateLimit } from "callwire/security";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../../entries.ts";
import { send, serve } from "../../transports/http/wire.ts";
import { counted, request, trail } from "../serving.ts";
import { wires } from "./wires.ts";

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sources(path);
    return /\.[cm]?[jt]s$/.test(entry.name) ? [path] : [];
  });
}

// CVE-2025-6514: a URL reaches a shell.
test("no program is ever started through a shell", () => {
  const starts = sources("src").filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return /\bshell\s*:(?!\s*false)|\bexecSync\(|\bexec\(\s*[`"']|child_process"\)\.exec\b/.test(
      text,
    );
  });
  expect(starts).toEqual([]);
});

// CVE-2026-21713: the time that a comparison takes reveals how much of a secret is right.
test("secrets are compared by functions that take the same time", () => {
  const suspects = sources("src/security").flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .filter((line) => /(secret|token|hash|signature|digest|mac)\w*\s*(===|!==)/i.test(line))
      .filter((line) => !/(===|!==)\s*(undefined|"|null|\d)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(suspects).toEqual([]);
});

describe.each(wires)("over %s", (_, ask) => {
  test("a batch that is too long is one error, and nothing of it runs", async () => {
    const count = counted();
    const server = createServer(count.methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const batch = `[${Array.from({ length: 101 }, (_, id) => request("echo", [1], id)).join(",")}]`;
    expect(JSON.parse(await ask(server, batch))).toMatchObject({
      error: {
        code: -32600,
        data: { limit: "maxBatch", max: 100, details: "a batch must have at most 100 requests" },
      },
      id: null,
    });
    expect(count.calls).toBe(0);
  });

  test("CR and LF in a name make one line of the audit log", async () => {
    const { lines, sink } = trail();
    const server = createServer(counted().methods, { use: [auditLog(sink)], log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await ask(server, request('x\r\n{"decision":"allow","principal":"root"}\n'));
    const calls = lines.filter((line) => line.includes('"call"'));
    expect(calls).toHaveLength(1);
    expect(calls[0]?.trimEnd()).not.toMatch(/[\r\n]/);
  });
});

test("a batch does not get around a rate limit", async () => {
  const count = counted();
  const use = [rateLimit({ capacity: 5, perSecond: 0.001 })];
  const { port } = await serve(count.methods, {}, { use });
  const batch = `[${Array.from({ length: 50 }, (_, id) => request("echo", [1], id)).join(",")}]`;
  await send(port, { body: batch });
  expect(count.calls).toBe(5);
});
