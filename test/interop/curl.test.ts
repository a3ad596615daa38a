import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, startDemo } from "../cli/process.ts";
import { describeWith, pathOf } from "../services.ts";

// curl, which people try first, against the demo.

describeWith(["curl"], "curl", () => {
  let demo: Awaited<ReturnType<typeof startDemo>>;

  beforeAll(async () => {
    await build();
    demo = await startDemo();
  });

  afterAll(() => demo?.[Symbol.asyncDispose]());

  /** The status, and the body as text. */
  async function curl(
    path: string,
    args: readonly string[],
    body?: string,
  ): Promise<[status: number, text: string]> {
    const write = ["--silent", "--show-error", "--no-buffer", "--write-out", "\n%{http_code}"];
    const input = body === undefined ? [] : ["--data-binary", "@-"];
    const child = spawn(pathOf("curl"), [...write, ...args, ...input, `${demo.origin}${path}`], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.end(body);
    let text = "";
    for await (const chunk of child.stdout.setEncoding("utf8")) text += chunk;
    const end = text.lastIndexOf("\n");
    return [Number(text.slice(end)), text.slice(0, end)];
  }

  const json = ["-H", "content-type: application/json"];
  const post = async (body: string, ...more: string[]): Promise<[number, unknown]> => {
    const [status, text] = await curl("/rpc", [...json, ...more], body);
    return [status, text === "" ? undefined : JSON.parse(text)];
  };

  test("gets a call answered, by name and by position", async () => {
    const reply = { jsonrpc: "2.0", result: 5, id: 1 };
    const byName = '{"jsonrpc":"2.0","method":"math/add","params":{"a":2,"b":3},"id":1}';
    const byPosition = '{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}';
    expect(await post(byName)).toEqual([200, reply]);
    expect(await post(byPosition)).toEqual([200, reply]);
  });

  test("gets no body to a notification", async () => {
    expect(await post('{"jsonrpc":"2.0","method":"echo","params":["hi"]}')).toEqual([
      204,
      undefined,
    ]);
  });

  test("gets a batch answered, with an error for the invalid entry", async () => {
    const [status, replies] = await post(
      '[{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1},7]',
    );
    expect(status).toBe(200);
    expect(replies).toMatchObject([
      { result: "hi", id: 1 },
      { error: { code: -32600 }, id: null },
    ]);
  });

  test("gets a parse error for what is not JSON", async () => {
    const error = { code: -32700, message: "Parse error" };
    expect(await post('{"jsonrpc":')).toEqual([200, { jsonrpc: "2.0", error, id: null }]);
  });

  test("may send its body in chunks and over HTTP/1.0", async () => {
    const body = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
    const reply = { jsonrpc: "2.0", result: "hi", id: 1 };
    expect(await post(body, "-H", "transfer-encoding: chunked")).toEqual([200, reply]);
    expect(await post(body, "--http1.0")).toEqual([200, reply]);
  });

  test("is refused before it sends a body that is too large", async () => {
    // By default it waits a second for the answer, and then sends anyway.
    const patient = ["--expect100-timeout", "50"];
    const [status, reply] = await post(
      "x".repeat(2 ** 21),
      "-H",
      "expect: 100-continue",
      ...patient,
    );
    expect(status).toBe(413);
    expect(reply).toMatchObject({ error: { code: -32600 }, id: null });
  });

  describe("reads a stream", () => {
    const plain = [..."hi"].map((result) => ({ jsonrpc: "2.0", result, id: 1 }));

    test("in the plain form, by GET and by POST", async () => {
      const [status, text] = await curl("/rpc/stream?method=paritosh/stream&message=hi&id=1", []);
      expect(status).toBe(200);
      expect(dataOf(text)).toEqual([...plain.map((reply) => JSON.stringify(reply)), "[DONE]"]);
      const body = '{"jsonrpc":"2.0","method":"paritosh/stream","params":["hi"],"id":1}';
      const [, posted] = await curl("/rpc/stream", json, body);
      expect(dataOf(posted)).toEqual(dataOf(text));
    });

    test("as the same messages that other wires carry", async () => {
      const body = '{"jsonrpc":"2.0","method":"paritosh/stream","params":["hi"],"id":1}';
      const [status, text] = await curl("/rpc", [...json, "-H", "accept: text/event-stream"], body);
      expect(status).toBe(200);
      const messages = dataOf(text).map((data) => JSON.parse(data));
      expect(messages).toMatchObject([
        { method: "$/stream", params: { id: 1, value: "h" } },
        { method: "$/stream", params: { id: 1, value: "i" } },
        { id: 1 },
      ]);
    });
  });

  test("gets an error that says what to send instead of GET and forms", async () => {
    const [get] = await curl("/rpc", []);
    const [form] = await curl("/rpc", [], "a=2&b=3");
    expect([get, form]).toEqual([405, 415]);
  });
});

/** The data of the events of a stream. */
function dataOf(text: string): string[] {
  return text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
}
