import { RpcError, stream } from "callwire";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { callFromQuery } from "../../../src/transports/http/stream-query.ts";
import { endlessStream, json, RawClient, send, serve } from "./wire.ts";

const methods = {
  paritosh: {
    stream: stream({ params: z.object({ message: z.string() }) }, async function* ({ message }) {
      yield* message;
    }),
  },
  nothing: stream({}, async function* () {}),
  fails: stream({}, async function* () {
    yield 1;
    throw new RpcError(1001, "Broken off");
  }),
  add: (a: number, b: number) => a + b,
  given: stream({}, async function* (params) {
    yield params;
  }),
};

const get = (port: number, query: string, headers: Record<string, string> = {}) =>
  send(port, { method: "GET", path: `/rpc/stream?${query}`, headers });

const postStream = (port: number, body: string) =>
  send(port, { path: "/rpc/stream", headers: json, body });

const data = (...all: unknown[]) =>
  all.map((each) => `data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`).join("");

const chunk = (result: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", result, id });

describe("GET", () => {
  test("each item is a separate response, and [DONE] is last", async () => {
    const { port } = await serve(methods);
    const answer = await get(port, "method=paritosh/stream&message=hi&id=7");
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    expect(answer.text).toBe(data(chunk("h", 7), chunk("i", 7), "[DONE]"));
  });

  test("the id is 1 unless one is given", async () => {
    const { port } = await serve(methods);
    expect((await get(port, "method=paritosh/stream&message=a")).text).toBe(
      data(chunk("a"), "[DONE]"),
    );
    expect((await get(port, "method=paritosh/stream&message=a&id=x")).text).toBe(
      data(chunk("a", "x"), "[DONE]"),
    );
  });

  test("a stream without items is only [DONE]", async () => {
    const { port } = await serve(methods);
    expect((await get(port, "method=nothing")).text).toBe(data("[DONE]"));
  });

  test("an error is a response before [DONE]", async () => {
    const { port } = await serve(methods);
    const error = { jsonrpc: "2.0", error: { code: 1001, message: "Broken off" }, id: 1 };
    expect((await get(port, "method=fails")).text).toBe(data(chunk(1), error, "[DONE]"));
    const { text } = await get(port, "method=paritosh/stream");
    expect(text).toMatch(
      /^data: \{"jsonrpc":"2.0","error":\{"code":-32602,.*\ndata: \[DONE\]\n\n$/s,
    );
  });

  test("a method that does not stream is 405 and does not run", async () => {
    let calls = 0;
    const { port } = await serve({ ...methods, act: () => ++calls });
    for (const name of ["act", "add", "none", "toString", "__proto__", "rpc.discover"]) {
      expect((await get(port, `method=${name}`)).status).toBe(405);
    }
    expect(calls).toBe(0);
  });

  test("a page of another site cannot start a stream", async () => {
    const { port } = await serve(methods);
    for (const headers of [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { host: "evil.example" },
    ]) {
      expect((await get(port, "method=nothing", headers as never)).status).toBe(403);
    }
    expect((await get(port, "method=nothing", { "sec-fetch-site": "same-origin" })).status).toBe(
      200,
    );
  });

  test("a query that cannot be read is 400 and says why", async () => {
    const { port } = await serve(methods);
    for (const query of ["", "method=", "method=given&a=1&a=2", "method=given&params=5"]) {
      const answer = await get(port, query);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toMatchObject({
        error: { code: -32600, data: expect.stringMatching(/\w/) },
        id: null,
      });
    }
  });

  test("a reader that leaves ends the stream", async () => {
    const { methods, ended } = endlessStream();
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write("GET /rpc/stream?method=endless HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await client.until((text) => text.includes('"result":5'));
    client.socket.destroy();
    await ended;
  });
});

describe("POST", () => {
  const call = (method: string, params: unknown = {}) =>
    JSON.stringify({ jsonrpc: "2.0", method, params, id: "a" });

  test("the request is the body", async () => {
    const { port } = await serve(methods);
    expect((await postStream(port, call("paritosh/stream", { message: "hi" }))).text).toBe(
      data(chunk("h", "a"), chunk("i", "a"), "[DONE]"),
    );
  });

  test("a method that does not stream gives its result and [DONE]", async () => {
    const { port } = await serve(methods);
    const answer = await postStream(port, call("add", [2, 3]));
    expect(answer.text).toBe(data(chunk(5, "a"), "[DONE]"));
  });

  test("a batch and what is not JSON are errors before [DONE]", async () => {
    const { port } = await serve(methods);
    for (const [body, code] of [
      [` [${call("nothing")}]`, -32600],
      ["{", -32700],
      ["{}", -32600],
    ] as const) {
      const { text } = await postStream(port, body);
      const [error, done] = text.split("\n\n");
      expect(JSON.parse(error?.slice(6) ?? "")).toMatchObject({ error: { code }, id: null });
      expect(done).toBe("data: [DONE]");
    }
  });

  test("the rules of POST hold", async () => {
    const { port } = await serve(methods);
    const headers = { "content-type": "text/plain" };
    const refused = await send(port, { path: "/rpc/stream", headers, body: call("nothing") });
    expect(refused.status).toBe(415);
  });
});

describe("a query", () => {
  const read = (query: string) => {
    const found = callFromQuery(new URLSearchParams(query));
    return "fault" in found ? found : JSON.parse(found.text);
  };

  test.each<[string, unknown]>([
    ["a=1", { a: 1 }],
    ["a=-1.5e3", { a: -1500 }],
    ["a=007", { a: "007" }],
    ["a=12345678901234567890", { a: "12345678901234567890" }],
    ["a=true&b=false", { a: true, b: false }],
    ["a=null", { a: "null" }],
    ["a=", { a: "" }],
    ["a=hi+there%21", { a: "hi there!" }],
    ['a={"b":[1]}', { a: { b: [1] } }],
    ["a=[1,2]", { a: [1, 2] }],
    ["a={broken", { a: "{broken" }],
    ["params=[1,2]", [1, 2]],
    ['params={"a":1}&b=2', { a: 1, b: 2 }],
  ])("%s has these params", (query, params) => {
    expect(read(`method=m&${query}`)).toEqual({ jsonrpc: "2.0", method: "m", params, id: 1 });
  });

  test("a parameter named __proto__ is one like any other", () => {
    const { params } = read("method=m&__proto__=1&constructor=2");
    expect(Object.keys(params)).toEqual(["__proto__", "constructor"]);
  });

  test.each(["params=[1]&a=2", "params=1", "params=x", "params=null", "a=1&a=1", "id=1&id=2"])(
    "%s is refused",
    (query) => expect(read(`method=m&${query}`)).toHaveProperty("fault"),
  );
});
