import { describe, expect, test } from "vitest";
import { isJsonType, replyForm } from "../../../src/http/media-type.ts";
import { add, send, serve, sum } from "./wire.ts";

const accepted = [
  "application/json",
  "application/json-rpc",
  "application/jsonrequest",
  "Application/JSON",
  "application/json;charset=utf-8",
  "application/json; charset=UTF-8",
  'application/json ; charset="utf-8"',
  "application/json;",
  "application/json; profile=x; charset=utf-8",
  ' application/json; note="a;b\\"c" ',
];

const refused = [
  undefined,
  "",
  "text/plain",
  "text/plain; application/json",
  "text/plain; x=application/json",
  "application/json\tx",
  "application/json x",
  "application/json,text/plain",
  "application/json-patch+json",
  "application/jsonp",
  "application/json+rpc",
  "xapplication/json",
  "application/json; charset=utf-16",
  'application/json; charset="latin1"',
  "application/json; charset",
  "application/json; =x",
  'application/json; x="open',
  "application/json; charset=utf-8; charset=ascii",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
];

describe("Content-Type", () => {
  test.each(accepted)("%j is JSON", (type) => expect(isJsonType(type)).toBe(true));

  test.each(refused)("%j is not JSON", (type) => expect(isJsonType(type)).toBe(false));

  test("a type that is not JSON is 415, and no handler runs", async () => {
    let calls = 0;
    const { port } = await serve({ add: () => ++calls });
    for (const type of refused) {
      const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
      const answer = await send(port, { headers, body: add });
      expect([type, answer.status]).toEqual([type, 415]);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32600 }, id: null });
    }
    expect(calls).toBe(0);
  });

  test("a type that is JSON is answered", async () => {
    const { port } = await serve({ add: (a: number, b: number) => a + b });
    for (const type of accepted) {
      expect((await send(port, { headers: { "content-type": type }, body: add })).text).toBe(sum);
    }
  });

  test("two types are refused, whichever comes first", async () => {
    const { port } = await serve({ add: (a: number, b: number) => a + b });
    const types = ["application/json", "text/plain"];
    for (const both of [types, types.toReversed()]) {
      const answer = await send(port, { headers: { "content-type": both }, body: add });
      expect(answer.status).toBe(400);
    }
  });
});

test.each([
  [undefined, "json"],
  ["", "json"],
  ["*/*", "json"],
  ["text/*", "json"],
  ["application/json", "json"],
  ["application/json, text/event-stream", "either"],
  ["text/event-stream, application/json", "either"],
  ["text/event-stream, */*;q=0.1", "either"],
  ["text/event-stream", "events"],
  ["Text/Event-Stream; charset=utf-8", "events"],
  ["text/event-stream;q=0", "json"],
  ["text/event-stream; q=0.000, application/json", "json"],
  ["text/event-stream;q=0.5, application/json;q=0", "events"],
  ["text/event-streams", "json"],
  ["text/html, application/xhtml+xml", "json"],
] as const)("who accepts %j gets %s", (accept, form) => {
  expect(replyForm(accept)).toBe(form);
});
