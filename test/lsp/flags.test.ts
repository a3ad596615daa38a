import { lspFlags } from "callwire/lsp";
import { expect, test } from "vitest";

test.each([
  [[], { kind: "stdio" }],
  [["--stdio"], { kind: "stdio" }],
  [["--stdio", "--stdio"], { kind: "stdio" }],
  [["--node-ipc"], { kind: "ipc" }],
  [["--socket=6009"], { kind: "socket", port: 6009 }],
  [["--socket", "6009"], { kind: "socket", port: 6009 }],
  [["--port=6009"], { kind: "socket", port: 6009 }],
  [["--pipe=/tmp/a=b.sock"], { kind: "pipe", path: "/tmp/a=b.sock" }],
  [["--pipe", "\\\\.\\pipe\\x"], { kind: "pipe", path: "\\\\.\\pipe\\x" }],
  [["--log", "debug", "file", "--node-ipc"], { kind: "ipc" }],
])("%j connects over %j", (args, wire) => {
  expect(lspFlags(args)).toEqual({ wire, clientProcessId: undefined });
});

test("the process of the editor is read", () => {
  expect(lspFlags(["--stdio", "--clientProcessId=42"]).clientProcessId).toBe(42);
  expect(lspFlags(["--clientProcessId", "42"]).clientProcessId).toBe(42);
});

test.each([
  [["--socket"], '--socket must be an integer between 1 and 65535, not ""'],
  [["--socket=80a"], '--socket must be an integer between 1 and 65535, not "80a"'],
  [["--socket=0"], "--socket must be an integer"],
  [["--pipe="], "--pipe needs a path"],
  [["--clientProcessId=me"], "--clientProcessId must be an integer"],
  [["--stdio", "--node-ipc"], "--node-ipc names a second wire"],
])("%j is refused", (args, message) => {
  expect(() => lspFlags(args)).toThrow(message);
});
