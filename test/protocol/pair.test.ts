import { WireError } from "callwire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Id, Request } from "../../src/protocol/message.ts";
import { pairBatch, pairOne, replyOf } from "../../src/protocol/pair.ts";

const result = (value: unknown, id: unknown) => ({ jsonrpc: "2.0", result: value, id });
const error = (code: number, id: unknown) => ({
  jsonrpc: "2.0",
  error: { code, message: "m" },
  id,
});
const success = (value: unknown) => ({ result: value, error: undefined });
const failure = (code: number) => ({ result: undefined, error: { code, message: "m" } });
const badReply = expect.objectContaining({ name: "WireError", code: "BAD_REPLY" });

function request(id?: Id): Request {
  return id === undefined ? { jsonrpc: "2.0", method: "m" } : { jsonrpc: "2.0", method: "m", id };
}

describe("a response", () => {
  test.each<[unknown, unknown]>([
    [result(1, 1), success(1)],
    [result(null, 1), success(null)],
    [result(0, 1), success(0)],
    [{ ...result(1, 1), error: null }, success(1)],
    [{ result: 1, error: null, id: 1 }, success(1)],
    [{ ...error(5, 1), result: null }, failure(5)],
    [{ result: null, error: { code: 5, message: "m" }, id: 1 }, failure(5)],
    [
      { result: null, error: "went wrong", id: 1 },
      { result: undefined, error: { code: -32000, message: "went wrong", data: "went wrong" } },
    ],
    [
      { result: null, error: { text: "x" }, id: 1 },
      { result: undefined, error: { code: -32000, message: "Error", data: { text: "x" } } },
    ],
  ])("%j says what it says", (message, reply) => {
    expect(replyOf(message as never)).toEqual(reply);
  });

  test.each<[unknown]>([
    [{}],
    [{ jsonrpc: "2.0", id: 1 }],
    [{ jsonrpc: "2.1", result: 1, id: 1 }],
    [{ jsonrpc: 2, result: 1, id: 1 }],
    [{ jsonrpc: "2.0", error: "text", id: 1 }],
    [{ jsonrpc: "2.0", error: { code: "5", message: "m" }, id: 1 }],
    [{ jsonrpc: "2.0", error: { code: 1.5, message: "m" }, id: 1 }],
    [{ jsonrpc: "2.0", error: { code: 5 }, id: 1 }],
    [{ jsonrpc: "2.0", error: [], id: 1 }],
    [{ message: "not found" }],
  ])("%j is none", (message) => {
    expect(replyOf(message as never)).toBeUndefined();
  });
});

describe("the reply to a call", () => {
  test("has its id", () => {
    for (const id of [0, 1, -1, 1.5, "", "1", "a", null]) {
      expect(pairOne(id, result("r", id))).toEqual(success("r"));
      expect(pairOne(id, error(5, id))).toEqual(failure(5));
    }
  });

  test.each<[Id, unknown]>([
    [1, 2],
    [1, "1"],
    ["1", 1],
    [0, ""],
    [0, false],
    ["null", null],
    [1, [1]],
    [1, undefined],
  ])("has not the id %j when the reply has %j", (id, other) => {
    expect(() => pairOne(id, result("r", other))).toThrow(badReply);
  });

  test("may have the id null when it is an error", () => {
    expect(pairOne(1, error(-32700, null))).toEqual(failure(-32700));
    expect(pairOne(1, { jsonrpc: "2.0", error: { code: 5, message: "m" } })).toEqual(failure(5));
    expect(() => pairOne(1, error(5, 2))).toThrow(badReply);
  });

  test.each([[null], [1], ["text"], [true], [[]], [[result(1, 1)]], [{}], [undefined]])(
    "is not %j",
    (payload) => {
      expect(() => pairOne(1, payload)).toThrow(badReply);
    },
  );
});

describe("the replies to a batch", () => {
  const requests = [request(1), request("1"), request(), request(3)];

  test("are found by id, whatever their order", () => {
    const replies = [result("c", 3), error(5, "1"), result("a", 1)];
    const expected = [success("a"), failure(5), undefined, success("c")];
    expect(pairBatch(requests, replies)).toEqual(expected);
    expect(pairBatch(requests, replies.toReversed())).toEqual(expected);
  });

  test("that are missing fail their calls, and the others are returned", () => {
    expect(pairBatch(requests, [result("a", 1)])).toEqual([
      success("a"),
      badReply,
      undefined,
      badReply,
    ]);
    expect(pairBatch(requests, [])).toEqual([badReply, badReply, undefined, badReply]);
  });

  test("that are unexpected are ignored, and of two the first counts", () => {
    const replies = [
      result("a", 1),
      result("again", 1),
      result("b", "1"),
      result("other", 99),
      result("c", 3),
      result("no id", null),
      null,
      5,
      [],
      {},
    ];
    expect(pairBatch(requests, replies)).toEqual([
      success("a"),
      success("b"),
      undefined,
      success("c"),
    ]);
  });

  test("that are one error instead of an array fail every call", () => {
    expect(pairBatch(requests, error(-32600, null))).toEqual([
      failure(-32600),
      failure(-32600),
      undefined,
      failure(-32600),
    ]);
  });

  test("may be one reply instead of an array, which then answers its own call only", () => {
    expect(pairBatch([request(1)], result("a", 1))).toEqual([success("a")]);
    expect(pairBatch([request(1), request(2)], error(5, 2))).toEqual([badReply, failure(5)]);
  });

  test("without an id fail the calls that have no other, when they can mean nothing else", () => {
    const calls = [request(1), request(2), request(3)];
    expect(pairBatch(calls, [result("a", 1), error(5, null), error(6, null)])).toEqual([
      success("a"),
      failure(5),
      failure(6),
    ]);
    expect(pairBatch(calls, [result("a", 1), result("c", 3), error(5, null)])).toEqual([
      success("a"),
      failure(5),
      success("c"),
    ]);
  });

  test("without an id that could mean several calls, or a notification, are reported as that", () => {
    const cause = { code: 5, message: "m" };
    const unclear = expect.objectContaining({ name: "WireError", code: "BAD_REPLY", cause });
    expect(pairBatch([request(1), request(2)], [error(5, null)])).toEqual([unclear, unclear]);
    expect(pairBatch([request(1), request()], [error(5, null)])).toEqual([unclear, undefined]);
  });

  test.each([[null], [1], ["<html>"], [{ message: "oops" }], [undefined]])(
    "are not %j",
    (payload) => {
      expect(pairBatch([request(1), request()], payload)).toEqual([badReply, undefined]);
    },
  );

  test("always give each call an outcome and never throw, whatever arrived", () => {
    const ids = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom("a", "1", null));
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.record({ jsonrpc: fc.constant("2.0"), result: fc.jsonValue(), id: ids }),
      fc.record({
        jsonrpc: fc.constant("2.0"),
        error: fc.record({ code: fc.integer(), message: fc.string() }),
        id: ids,
      }),
    );
    const batch = fc.array(fc.option(ids, { nil: undefined }).map(request), { minLength: 1 });
    fc.assert(
      fc.property(batch, fc.oneof(entry, fc.array(entry)), (sent, payload) => {
        const paired = pairBatch(sent, payload);
        expect(paired).toHaveLength(sent.length);
        sent.forEach(({ id }, i) => {
          const reply = paired[i];
          if (id === undefined) expect(reply).toBeUndefined();
          else if (!(reply instanceof WireError)) expect(reply).toHaveProperty("result");
        });
      }),
    );
  });
});
