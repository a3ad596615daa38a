import { spawnSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { consoleLog } from "callwire";
import { expect, onTestFinished, test, vi } from "vitest";
import { bundle } from "../transports/bundle.ts";

const program = bundle(new URL("./fixtures/failing.ts", import.meta.url));

function said(where: "terminal" | "file", ...methods: readonly string[]): string {
  const args = [program, where, ...methods];
  // No variable of the environment may make Node itself print something.
  const env = { PATH: process.env["PATH"] };
  return spawnSync(process.execPath, args, { encoding: "utf8", env }).stderr;
}

const failures = [
  "hasCause",
  "hasMany",
  "hasEndlessCause",
  "comesBack",
  "isDeep",
  "isRemote",
  "hasWrongResult",
] as const;
let lines: readonly string[] | undefined;

/** What a line of JSON says about the error that this method throws. */
function logged(method: (typeof failures)[number]): unknown {
  lines ??= said("file", ...failures)
    .trimEnd()
    .split("\n");
  const line = lines[failures.indexOf(method)] ?? "";
  expect(line.length).toBeLessThan(50_000);
  const entry = JSON.parse(line);
  expect(entry.method).toBe(method);
  return entry.err;
}

test("off a terminal each failure is one line of JSON, whatever was thrown", () => {
  const stderr = said("file", "throws", "throwsItself");
  expect(stderr).toMatch(/^[\x20-\x7e\n]*$/);
  const entries = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const entry = {
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    level: "error",
    msg: "handler failed",
    id: 1,
    correlationId: expect.any(String),
  };
  expect(entries).toEqual([
    {
      ...entry,
      method: "throws",
      err: {
        type: "Error",
        message: "the disk\nis full \u001b[2J\u009b",
        stack: expect.stringContaining("failing"),
      },
    },
    { ...entry, method: "throwsItself", err: expect.stringContaining("circular") },
  ]);
});

test("on a terminal it is laid out for people", () => {
  const stderr = said("terminal", "throws");
  expect(stderr).toMatch(/^handler failed \{\n/);
  expect(stderr).toMatch(/\n {2}method: .*throws/);
});

const stack = expect.stringContaining("failing");

test("a line says what an error was caused by, and its simple members", () => {
  expect(logged("hasCause")).toEqual({
    type: "Error",
    message: "could not save",
    stack,
    status: 7,
    cause: {
      type: "Error",
      message: "connect ECONNREFUSED db:5432",
      stack,
      code: "ECONNREFUSED",
    },
  });
});

test("a line has the errors of an AggregateError, the first of them", () => {
  expect(logged("hasMany")).toEqual({
    type: "AggregateError",
    message: "none worked",
    stack,
    errors: [
      { type: "Error", message: "one", stack },
      "two",
      ...Array<number>(14).fill(0),
      "986 more",
    ],
  });
});

test("a cause that is not JSON does not hide its error", () => {
  expect(logged("hasEndlessCause")).toMatchObject({
    message: "odd",
    cause: expect.stringContaining("circular"),
  });
});

test("causes that are circular or very deep are cut", () => {
  expect(logged("comesBack")).toMatchObject({
    message: "returning",
    cause: { by: "Error: returning" },
  });
  expect(JSON.stringify(logged("isDeep"))).toContain('"cause":"Error: level 99983"');
});

test("a line has the data that another end answered with", () => {
  expect(logged("isRemote")).toMatchObject({ code: -32602, data: { details: "a: is missing" } });
});

test("a result that is not what its method declares says which member, and no more of its issue", () => {
  expect(logged("hasWrongResult")).toEqual({
    type: "TypeError",
    message: "the result does not match the schema of its method",
    stack,
    cause: [{ path: ["user", "age"], message: expect.stringContaining("number") }],
  });
});

test("lines have their level, and a stream that cannot be written is not a failure", () => {
  const lines: string[] = [];
  for (const level of ["warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line) => void lines.push(line));
  const stderr = Object.assign(new EventEmitter(), { isTTY: false });
  vi.stubGlobal("process", Object.create(process, { stderr: { value: stderr } }));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  consoleLog.warn({ at: 1 }, "first");
  consoleLog.error({ at: 2 }, "second");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", msg: "first", at: 1 },
    { level: "error", msg: "second", at: 2 },
  ]);
  expect(stderr.listenerCount("error")).toBe(1);
  expect(stderr.emit("error", new Error("the disk is full"))).toBe(true);
});
