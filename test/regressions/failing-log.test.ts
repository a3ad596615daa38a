import { createServer, type Log, method } from "callwire";
import { expect, test } from "vitest";
import { requestText } from "../server/asking.ts";

const full = () => {
  throw new Error("no space left on device");
};
const failingLog: Log = { debug: full, info: full, warn: full, error: full };

test("a log that fails changes no answer and breaks no call", async () => {
  const raise = () => {
    throw new Error("secret");
  };
  const server = createServer(
    {
      now: raise,
      later: async () => raise(),
      bigint: () => 1n,
      chatty: method({}, (_, call) => {
        call.log.info({}, "hello");
        return "still here";
      }),
    },
    { log: failingLog },
  );
  const failure = '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}';
  expect(server.receive(requestText("now"))).toBe(failure);
  expect(await server.receive(requestText("later"))).toBe(failure);
  expect(server.receive(requestText("bigint"))).toBe(failure);
  expect(server.receive(requestText("chatty"))).toContain("still here");
  expect(await server.receive(`[${requestText("later")},${requestText("now")}]`)).toBe(
    `[${failure},${failure}]`,
  );
});

test("a log keeps its own this", () => {
  class Counting implements Log {
    count = 0;
    debug() {}
    info() {}
    warn() {}
    error() {
      this.count++;
    }
  }
  const log = new Counting();
  const server = createServer(
    {
      fail: () => {
        throw new Error("x");
      },
    },
    { log },
  );
  void server.receive(requestText("fail"));
  expect(log.count).toBe(1);
});
