import { type Clock, createClient, createServer } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { HandLink } from "../client/hand-link.ts";
import { requestText } from "../server/asking.ts";

// The timeout of a call was measured from the last tick of a clock that stands still while the
// process does.

/** A clock whose timers fire late, as in a process that the system has suspended for a while. */
class LateClock implements Clock {
  readonly #timers = new FakeClock();
  #behindMs = 0;

  now(): number {
    return this.elapsed();
  }

  elapsed(): number {
    return this.#timers.elapsed() + this.#behindMs;
  }

  after(delayMs: number, run: () => void) {
    return this.#timers.after(delayMs, run);
  }

  /** Time passes, and no timer fires. */
  pause(ms: number): void {
    this.#behindMs += ms;
  }

  advance(ms: number): void {
    this.#timers.advance(ms);
  }
}

test("a call that is made after a pause has its whole timeout", async () => {
  const clock = new LateClock();
  const link = new HandLink();
  const client = createClient(link, { clock });
  void client.call("before");
  clock.pause(2_000);
  const call = client.call("after", [], { timeoutMs: 1_000 });
  clock.advance(990);
  link.calls[1]?.resolve({ result: "in time", error: undefined });
  expect(await call).toBe("in time");
});

test("a call after a pause has its whole timeout at the server", async () => {
  const clock = new LateClock();
  let finish: (text: string) => void = () => {};
  const wait = () =>
    new Promise<string>((resolve) => {
      finish = resolve;
    });
  const server = createServer({ wait }, { clock });
  void server.receive(requestText("wait"));
  clock.pause(2_000);
  const answer = server.receive(requestText("wait", [], { timeoutMs: 1_000 }));
  clock.advance(990);
  finish("in time");
  expect(await answer).toContain("in time");
});
