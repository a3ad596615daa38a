/** CVE-2026-27896: two readers of one message that read different things. */
import { createServer, silentLog } from "callwire";
import { describe, expect, onTestFinished, test } from "vitest";
import { counted } from "../serving.ts";
import { wires } from "./wires.ts";

const messages: [title: string, text: string][] = [
  ["Method", '{"jsonrpc":"2.0","Method":"echo","params":[1],"id":1}'],
  ["METHOD beside method of another kind", '{"jsonrpc":"2.0","METHOD":"echo","method":1,"id":1}'],
  ["Jsonrpc", '{"Jsonrpc":"2.0","method":"echo","params":[1],"id":1}'],
  ["method twice", '{"jsonrpc":"2.0","method":"none","method":"echo","params":[1],"id":1}'],
  [
    "method twice, once in escapes",
    '{"jsonrpc":"2.0","method":"none","\\u006dethod":"echo","id":1}',
  ],
  ["params twice", '{"jsonrpc":"2.0","method":"echo","params":[1],"params":[2],"id":1}'],
  ["id twice", '{"jsonrpc":"2.0","method":"echo","params":[1],"id":1,"id":2}'],
  ["jsonrpc twice", '{"jsonrpc":"1.0","jsonrpc":"2.0","method":"echo","params":[1],"id":1}'],
  ["the same twice", '{"jsonrpc":"2.0","method":"echo","method":"echo","params":[1],"id":1}'],
];

describe.each(wires)("over %s", (_, ask) => {
  test.each(messages)("%s is an invalid request", async (_, text) => {
    const count = counted();
    const server = createServer(count.methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const { error } = JSON.parse(await ask(server, text));
    expect(error).toMatchObject({ code: -32600 });
    expect(count.calls).toBe(0);
  });

  test("in a batch it fails alone", async () => {
    const count = counted();
    const server = createServer(count.methods, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const good = '{"jsonrpc":"2.0","method":"echo","params":[1],"id":9}';
    const bad = messages.map(([, text]) => text).join(",");
    const replies = JSON.parse(await ask(server, `[${good},${bad}]`));
    expect(replies.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([
      undefined,
      ...messages.map(() => -32600),
    ]);
    expect(count.calls).toBe(1);
  });
});

test("names are looked up as they are, and never on a prototype", () => {
  const server = createServer(counted().methods, { log: silentLog });
  for (const name of ["Echo", "echo ", "__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const text = JSON.stringify({ jsonrpc: "2.0", method: name, id: 1 });
    expect(JSON.parse(server.receive(text) as string).error.code).toBe(-32601);
  }
});
