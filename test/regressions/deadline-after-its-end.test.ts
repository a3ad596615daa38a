import { type Context, createServer, method } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { requestText } from "../server/asking.ts";

test("a deadline that has passed does not move into the future", async () => {
  const clock = new FakeClock(1_000_000);
  const calls: Context[] = [];
  const server = createServer(
    {
      stuck: method({}, (_, call) => {
        calls.push(call);
        return new Promise(() => {});
      }),
    },
    { clock, timeoutMs: 1_000 },
  );
  const answer = server.receive(requestText("stuck"));
  clock.advance(1_100);
  expect(await answer).toContain("-32003");
  const [call] = calls as [Context];
  expect(call.deadline).toBeLessThanOrEqual(clock.now());
  clock.advance(5_000);
  expect(call.deadline).toBeLessThanOrEqual(1_001_010);
});
