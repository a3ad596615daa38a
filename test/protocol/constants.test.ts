import { createServer, ErrorCode, RpcError } from "callwire";
import { describe, expect, test } from "vitest";
import { defaultMaxBytes, mostInside } from "../../src/protocol/attachments.ts";
import { defaultLimits, exceedsDepth, limitOf, limitsFrom } from "../../src/protocol/limits.ts";
import { isSharedPage } from "../../src/protocol/shared-page.ts";
import * as ownErrors from "../../src/protocol/standard-errors.ts";

const later = { status: 503, headers: { "retry-after": "1" } };

describe("what every server answers alike", () => {
  test.each([
    ["parseError", { code: -32700, message: "Parse error" }],
    ["internalError", { code: -32603, message: "Internal error" }],
    ["methodNotFound", { code: -32601, message: "Method not found" }],
    ["requestTimeout", { code: ErrorCode.RequestTimeout, message: "Request timeout" }],
    ["requestCancelled", { code: -32800, message: "Request cancelled" }],
    ["connectionLost", { code: -32800, message: "Connection lost" }],
    [
      "serverBusy",
      {
        code: -32005,
        message: "Server busy",
        data: { ran: false, reason: "busy", retryAfterMs: 1000 },
        ...later,
      },
    ],
    [
      "outOfTime",
      {
        code: ErrorCode.RequestTimeout,
        message: "Request timeout",
        data: { ran: false, reason: "expired" },
      },
    ],
    [
      "shuttingDown",
      {
        code: -32006,
        message: "Server is shutting down",
        data: { ran: false, reason: "stopping" },
        ...later,
      },
    ],
    [
      "cutShort",
      {
        code: -32006,
        message: "Server is shutting down",
        data: {
          ran: true,
          reason: "stopping",
          details: "the server ended the call before it was done",
        },
        ...later,
      },
    ],
  ] as const)("%s", (name, error) => {
    expect(Reflect.get(ownErrors, name)).toEqual(error);
  });

  test.each([
    ["maxMessageBytes", "a message must have at most 7 bytes"],
    ["maxBatch", "a batch must have at most 7 requests"],
    ["maxFiles", "a call must have at most 7 files"],
    ["maxFileBytes", "a file must have at most 7 bytes"],
  ] as const)("%s is exceeded", (limit, details) => {
    const error = { code: -32600, message: "Invalid Request", data: { limit, max: 7, details } };
    expect(ownErrors.limitExceeded(limit, 7)).toEqual(error);
    const thrown = ownErrors.callTooLarge(limit, 7);
    expect(thrown).toBeInstanceOf(RpcError);
    expect(thrown).toMatchObject({ ...error, status: 413 });
  });

  test("an error of a reply can be thrown, as itself if it is one", () => {
    const thrown = new RpcError(1, "thrown", 2);
    expect(ownErrors.asError(thrown)).toBe(thrown);
    const made = ownErrors.asError({ code: 3, message: "made", data: 4 });
    expect(made).toBeInstanceOf(RpcError);
    expect(made).toMatchObject({ code: 3, message: "made", data: 4 });
  });

  test("a code must be an integer", () => {
    expect(() => new RpcError(1.5, "no")).toThrow("code must be an integer, not 1.5");
    expect(new RpcError(1, "yes", 2, { status: 409, headers: { a: "b" } })).toMatchObject({
      name: "RpcError",
      status: 409,
      headers: { a: "b" },
    });
  });
});

describe("limits", () => {
  test("have the documented defaults", () => {
    expect(defaultLimits).toEqual({
      maxMessageBytes: 1_048_576,
      maxReplyLength: 10_485_760,
      maxBatch: 100,
      maxBatchConcurrency: 32,
      maxDepth: 64,
      maxRichValues: 5_000,
      maxFiles: 16,
      maxFileBytes: 10_485_760,
      maxIdLength: 256,
      maxInFlight: 1_000,
      maxInFlightBytes: 67_108_864,
      maxStreams: 128,
      maxBufferedBytes: 4_194_304,
    });
    expect(limitsFrom()).toEqual(defaultLimits);
    expect(limitsFrom({ maxBatch: 1 })).toEqual({ ...defaultLimits, maxBatch: 1 });
  });

  test("of what the connections of a server buffer together are 64 MiB", () => {
    const { buffers } = createServer({}).running;
    let shed = 0;
    const connection = { bufferedBytes: 67_108_864, shed: () => shed++ };
    buffers.opened(connection);
    buffers.moved(67_108_864);
    expect(shed).toBe(0);
    connection.bufferedBytes++;
    buffers.moved(67_108_864);
    expect(shed).toBe(1);
  });

  test("must be known, and numbers of at least 1", () => {
    expect(() => limitsFrom({ maxBatches: 1 } as never)).toThrow('unknown limit "maxBatches"');
    expect(() => limitsFrom({ toString: 1 } as never)).toThrow('unknown limit "toString"');
    for (const value of [0, 0.5, Number.NaN, "5", null]) {
      expect(() => limitsFrom({ maxBatch: value as never })).toThrow(
        `maxBatch must be a number of at least 1, not ${value}`,
      );
    }
    expect(() => limitOf("maxBatch", undefined)).toThrow("not undefined");
    expect(limitOf("maxBatch", undefined, 3)).toBe(3);
    expect(limitOf("maxBatch", 1, 3)).toBe(1);
    expect(limitOf("maxBatch", Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([
    [5, 0],
    [null, 0],
    [[], 1],
    [{}, 1],
    [[1, null, "a"], 1],
    [[1, [2]], 2],
    [{ a: 1, b: null, c: { d: [] } }, 3],
    [[{ a: [] }, []], 3],
  ])("%j has the depth %i", (value, depth) => {
    expect(exceedsDepth(value, depth)).toBe(false);
    expect(exceedsDepth(value, depth - 1)).toBe(depth > 0);
  });
});

test("bytes in a message are at most 100 MiB, and 10 MiB for those who state no limit", () => {
  expect([mostInside, defaultMaxBytes]).toEqual([104_857_600, 10_485_760]);
});

test("a page of several processes is a function with a snapshot and a merged form", () => {
  const page = Object.assign(() => {}, { snapshot() {}, merged() {} });
  expect(isSharedPage(page)).toBe(true);
  expect(isSharedPage({ ...page })).toBe(false);
  expect(isSharedPage(Object.assign(() => {}, { snapshot() {} }))).toBe(false);
  expect(isSharedPage(Object.assign(() => {}, { merged() {} }))).toBe(false);
  expect(isSharedPage(undefined)).toBe(false);
});
