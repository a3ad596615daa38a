/** The HTTP examples of the documents that the project began with, sent to the demo as they are printed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, type Process, startDemo } from "../cli/process.ts";

let demo: Process & { readonly origin: string };

beforeAll(async () => {
  await build();
  demo = await startDemo();
});

afterAll(() => demo?.[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function post(path: string, text: string): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(demo.origin + path, { method: "POST", headers, body: text });
  const body = await response.text();
  return { status: response.status, body: body === "" ? undefined : JSON.parse(body) };
}

const nothing: Answer = { status: 204, body: undefined };

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function result(id: unknown, value: unknown): object {
  return { jsonrpc: "2.0", result: value, id };
}

/** An error that may have more in `data`. */
function error(id: unknown, code: number, message: string): object {
  return { jsonrpc: "2.0", error: expect.objectContaining({ code, message }), id };
}

const notFound = (id: unknown): object => error(id, -32601, "Method not found");
const invalidRequest = (id: unknown): object => error(id, -32600, "Invalid Request");
const parseError: object = error(null, -32700, "Parse error");

/** Messages that mean the same on both paths. */
const version2: readonly (readonly [name: string, text: string, answer: Answer])[] = [
  [
    "a call by position",
    `{ "jsonrpc": "2.0", "method": "add", "params": [5, 3], "id": "req-20-add-pos" }`,
    ok(result("req-20-add-pos", 8)),
  ],
  [
    "a call by name",
    `{ "jsonrpc": "2.0", "method": "subtract", "params": { "minuend": 42, "subtrahend": 23 }, "id": "req-20-sub-named" }`,
    ok(result("req-20-sub-named", 19)),
  ],
  [
    "a call by name, in another order",
    `{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}`,
    ok(result(3, 19)),
  ],
  [
    "a call over several lines",
    `{\n  "jsonrpc": "2.0",\n  "method": "add",\n  "params": [2, 3],\n  "id": 1\n}`,
    ok(result(1, 5)),
  ],
  [
    "a notification of a method that is not there",
    `{ "jsonrpc": "2.0", "method": "log_event", "params": { "level": "info", "message": "User action performed" } }`,
    nothing,
  ],
  [
    "a notification with positional params",
    `{"jsonrpc": "2.0", "method": "update", "params": [1, 2, 3, 4, 5]}`,
    nothing,
  ],
  ["an unknown method", `{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`, ok(notFound("1"))],
  [
    "a method that an agent would call",
    `{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "calculate_sum", "arguments": {"a": 15, "b": 25}}, "id": 1}`,
    ok(notFound(1)),
  ],
  [
    "a method name that is code",
    `{ "jsonrpc": "2.0", "method": "__import__('os').system('rm -rf /')", "id": 99 }`,
    ok(notFound(99)),
  ],
  [
    "a batch of two calls and a notification",
    `[
      { "jsonrpc": "2.0", "method": "sum", "params": [1, 2, 4], "id": "1" },
      { "jsonrpc": "2.0", "method": "notify_hello", "params": [7] },
      { "jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": "2" }
    ]`,
    ok([notFound("1"), result("2", 19)]),
  ],
  [
    "a batch with an unknown method",
    `[
      {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
      {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}
    ]`,
    ok([result("2", 19), notFound("5")]),
  ],
  [
    "a batch of notifications only",
    `[
      {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
      {"jsonrpc": "2.0", "method": "notify_update", "params": [1,2,3]}
    ]`,
    nothing,
  ],
  ["an empty batch", "[]", ok(invalidRequest(null))],
  ["text that is not JSON", "{this is not json...}", ok(parseError)],
  [
    "JSON that stops too early",
    `{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1`,
    ok(parseError),
  ],
  ["a trailing comma", `{ "jsonrpc": "2.0", "method": "test", "id": 1, }`, ok(parseError)],
  [
    "a comment inside a batch",
    `[
      { "jsonrpc": "2.0", "method": "add", "params": [1, 2], "id": 1 },
      { "jsonrpc": "2.0", "method": "logEvent", "params": ["batchStart"] }  // notification
    ]`,
    ok(parseError),
  ],
  [
    "a version that is not there",
    `{"jsonrpc": "2.1", "method": "echo", "params": ["test bad version"], "id": "bad-v2.1-version"}`,
    ok(invalidRequest("bad-v2.1-version")),
  ],
  [
    "the version of another protocol",
    `{ "jsonrpc": "1.0", "method": "tools/call", "params": {}, "id": 1 }`,
    ok(invalidRequest(1)),
  ],
  [
    "a message with neither id nor version",
    `{"method": "echo_weird_no_id_no_version", "params": ["test weird request"]}`,
    ok(invalidRequest(null)),
  ],
  [
    "a method that is a number",
    `{ "method": 123, "params": "unexpected" }`,
    ok(invalidRequest(null)),
  ],
];

describe.each(["/rpc", "/jsonrpc"])("on %s", (path) => {
  test.each(version2)("%s", async (_, text, answer) => {
    expect(await post(path, text)).toEqual(answer);
  });

  test.each<[method: string, params: unknown, value: unknown]>([
    ["echo", ["Hello JSON-RPC 2.0!"], "Hello JSON-RPC 2.0!"],
    ["add", [10, 5], 15],
    ["subtract", { minuend: 100, subtrahend: 25 }, 75],
    ["get_server_time", undefined, expect.stringMatching(/^\d{4}-\d\d-\d\dT/)],
    ["math/add", { a: 2, b: 3 }, 5],
    ["math/add", [2, 3], 5],
    ["math/subtract", { a: 9, b: 4 }, 5],
    ["math/multiply", { a: 6, b: 7 }, 42],
    ["math/multiply", [6, 7], 42],
    ["math/sqrt", [9], 3],
    ["paritosh/echo", { message: "ready for JSON-RPC" }, "[Paritosh] ready for JSON-RPC"],
    ["ai/generate", { prompt: "x".repeat(4000) }, "Generated text..."],
  ])("%s(%j)", async (method, params, value) => {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params, id: 101 });
    expect(await post(path, text)).toEqual(ok(result(101, value)));
  });

  test("a failing method does not reveal the reason to its caller", async () => {
    const text = `{"jsonrpc":"2.0","method":"trigger_error","params":["Test V2 Error"],"id":"v2-error-000"}`;
    expect(await post(path, text)).toEqual(
      ok({
        jsonrpc: "2.0",
        error: { code: -32603, message: "Internal error" },
        id: "v2-error-000",
      }),
    );
    await demo.shown(/Test V2 Error/, "stderr");
  });

  test("a notification shows in the server's terminal, on one line", async () => {
    const message = `hello from ${path}\nnotify_log forged`;
    const params = { message, source: "ClientV2" };
    const text = JSON.stringify({ jsonrpc: "2.0", method: "notify_log", params });
    expect(await post(path, text)).toEqual(nothing);
    const [line] = await demo.shown(new RegExp(`notify_log .*hello from ${path}.*`), "stderr");
    expect(line).toContain("forged");
    expect(line).toContain("ClientV2");
  });

  test("a long prompt is an error in the form that the document shows", async () => {
    const text = JSON.stringify({
      jsonrpc: "2.0",
      method: "ai/generate",
      params: { prompt: "x".repeat(4001) },
      id: 301,
    });
    expect(await post(path, text)).toEqual(
      ok({
        jsonrpc: "2.0",
        error: { code: -32602, message: "Invalid params", data: { details: "Prompt too long" } },
        id: 301,
      }),
    );
  });

  test("a negative input is an error of the application", async () => {
    const text = `{"jsonrpc":"2.0","method":"math/sqrt","params":{"x":-4},"id":7}`;
    expect(await post(path, text)).toEqual(
      ok({
        jsonrpc: "2.0",
        error: { code: -32000, message: "Negative input", data: { x: -4 } },
        id: 7,
      }),
    );
  });

  test("invalid params are reported with their fault", async () => {
    const text = `{"jsonrpc":"2.0","method":"add","params":["two",3],"id":8}`;
    const { body } = await post(path, text);
    expect(body).toMatchObject({
      error: { code: -32602, message: "Invalid params", data: { issues: [{ path: ["a"] }] } },
      id: 8,
    });
  });

  test("the batches of the Python clients", async () => {
    const first = [
      { jsonrpc: "2.0", method: "echo", params: ["Batch V2 item 1 (echo)"], id: "b-v2-1" },
      { jsonrpc: "2.0", method: "notify_log", params: { message: "in a batch" } },
      { jsonrpc: "2.0", method: "add", params: [99, 1], id: "b-v2-2" },
      { jsonrpc: "2.0", method: "non_existent_method", id: "b-v2-error" },
      { jsonrpc: "2.0", method: "malformed_in_batch_no_id_request" },
    ];
    expect(await post(path, JSON.stringify(first))).toEqual(
      ok([
        result("b-v2-1", "Batch V2 item 1 (echo)"),
        result("b-v2-2", 100),
        notFound("b-v2-error"),
      ]),
    );
    const second = [
      { jsonrpc: "2.0", method: "math/add", params: { a: 10, b: 5 }, id: 201 },
      { jsonrpc: "2.0", method: "math/subtract", params: { a: 9, b: 4 }, id: 202 },
      { jsonrpc: "2.0", method: "paritosh/echo", params: { message: "log this" } },
    ];
    expect(await post(path, JSON.stringify(second))).toEqual(ok([result(201, 15), result(202, 5)]));
  });

  test("ten calls at once are collated by id", async () => {
    const calls = Array.from({ length: 10 }, (_, id) => ({
      jsonrpc: "2.0",
      method: "math/multiply",
      params: [id, id],
      id,
    }));
    const answers = await Promise.all(calls.map((call) => post(path, JSON.stringify(call))));
    expect(answers.map(({ body }) => body)).toEqual(calls.map(({ id }) => result(id, id * id)));
  });
});

describe("version 1.0", () => {
  test("is answered on /jsonrpc with all three members", async () => {
    const text = `{ "method": "add", "params": [5, 3], "id": "req-10-add" }`;
    expect(await post("/jsonrpc", text)).toEqual(ok({ result: 8, error: null, id: "req-10-add" }));
  });

  test("has errors too", async () => {
    const text = `{ "method": "nonexistent", "params": [], "id": "req-10-nonexistent" }`;
    expect(await post("/jsonrpc", text)).toEqual(
      ok({
        result: null,
        error: { code: -32601, message: "Method not found" },
        id: "req-10-nonexistent",
      }),
    );
  });

  test("gets no answer to an id of null", async () => {
    const text = `{ "method": "log_message", "params": ["User logged in"], "id": null }`;
    expect(await post("/jsonrpc", text)).toEqual(nothing);
  });

  test("is refused on /rpc", async () => {
    const text = `{ "method": "add", "params": [2, 3], "id": 1 }`;
    expect(await post("/rpc", text)).toEqual(ok(invalidRequest(1)));
  });
});

describe("hostile messages", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);

  test.each<[name: string, text: string, answer: Answer]>([
    ["null in a batch", "[null]", ok([invalidRequest(null)])],
    ["a batch in a batch", "[[]]", ok([invalidRequest(null)])],
    [
      "the name of an inherited function",
      `{"jsonrpc":"2.0","method":"toString","id":0}`,
      ok(notFound(0)),
    ],
    [
      "100,000 brackets as params",
      `{"jsonrpc":"2.0","method":"echo","params":[${deep}],"id":1}`,
      ok(invalidRequest(1)),
    ],
  ])("%s", async (_, text, answer) => {
    expect(await post("/rpc", text)).toEqual(answer);
  });

  test("100,000 brackets as a message", async () => {
    const { status, body } = await post("/rpc", deep);
    expect(status).toBe(200);
    expect(JSON.stringify(body).length).toBeLessThan(1000);
  });

  test("an id that a double cannot hold is returned as written", async () => {
    const text = `{"jsonrpc":"2.0","method":"add","params":[1,2],"id":9007199254740993}`;
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${demo.origin}/rpc`, { method: "POST", headers, body: text });
    expect(await response.text()).toBe(`{"jsonrpc":"2.0","result":3,"id":9007199254740993}`);
  });

  test("the server continues", async () => {
    const text = `{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}`;
    expect(await post("/rpc", text)).toEqual(ok(result(1, 5)));
  });
});
