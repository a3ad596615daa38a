import { createServer, silentLog } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";

test("a server whose last call has ended has no timer for its timeout", async () => {
  const clock = new FakeClock();
  let finish: () => void = () => {};
  const wait = (): Promise<void> =>
    new Promise((resolve) => {
      finish = resolve;
    });
  const server = createServer({ wait }, { clock, log: silentLog, overload: false });
  const reply = server.receive('{"jsonrpc":"2.0","method":"wait","id":1}');
  // The timer now sleeps until the call is due.
  for (let i = 0; i < 5; i++) clock.advance(10);
  expect(clock.waiting).toBe(1);
  finish();
  await reply;
  expect(clock.waiting).toBe(0);
});
