import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { Overload } from "../../../src/protocol/overload.ts";
import { Pace } from "../../../src/transports/http/pace.ts";
import { BusyLoop } from "../../protocol/busy-loop.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function paced() {
  const loop = new BusyLoop();
  const waits: number[] = [];
  const overload = new Overload(loop, {}, () => loop.cpu());
  overload.waited = (ms) => void waits.push(ms);
  const pace = new Pace(overload, loop);
  const ran: string[] = [];
  const call = (name: string, ms: number, hold = (time: number) => loop.hold(time)) => {
    const request = {
      isGone: false,
      ended() {},
      run() {
        ran.push(name);
        hold(ms);
      },
    };
    pace.hasArrived = true;
    pace.run(request);
    return request;
  };
  return { loop, waits, ran, call };
}

describe("calls of HTTP requests", () => {
  test("run at once while they take little time", () => {
    const { ran, call } = paced();
    for (const name of ["a", "b", "c"]) call(name, 0.1);
    expect(ran).toEqual(["a", "b", "c"]);
  });

  test("yield to the event loop if they take long, and run in the order in which they arrived", async () => {
    const { ran, waits, call } = paced();
    for (const name of ["a", "b", "c", "d"]) call(name, 5);
    expect(ran).toEqual(["a"]);
    const seen = new Set<number>();
    while (ran.length < 4) {
      await turn();
      seen.add(ran.length);
    }
    expect(ran).toEqual(["a", "b", "c", "d"]);
    // Never two of them in the same turn.
    expect([...seen]).toEqual(expect.arrayContaining([2, 3, 4]));
    // And nothing waits any more.
    expect(waits).toEqual([0, 5, 10, 0]);
  });

  test("do not run if their client has left before their turn", async () => {
    const { ran, call } = paced();
    call("a", 5);
    const left = call("b", 5);
    call("c", 5);
    left.isGone = true;
    while (ran.length < 2) await turn();
    for (let i = 0; i < 5; i++) await turn();
    expect(ran).toEqual(["a", "c"]);
  });

  test("see the async storage of their own request, however long they wait", async () => {
    const loop = new BusyLoop();
    const pace = new Pace(undefined, loop);
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    for (const name of ["a", "b", "c"]) {
      storage.run(name, () =>
        pace.run({
          isGone: false,
          ended() {},
          run() {
            seen.push(storage.getStore());
            storage.enterWith("entered");
            loop.hold(name === "a" ? 5 : 0);
          },
        }),
      );
    }
    while (seen.length < 3) await turn();
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("wait for the turn after the next one while calls take long", async () => {
    const { ran, call } = paced();
    for (const name of ["a", "b", "c"]) call(name, 5);
    while (ran.length < 3) await turn();
    await turn();
    call("d", 0);
    expect(ran).toEqual(["a", "b", "c"]);
    while (ran.length < 4) await turn();
  });

  test("do not wait because another process has the CPU", async () => {
    const { loop, ran, call } = paced();
    for (const name of ["a", "b", "c"]) call(name, 5, (ms) => loop.wait(ms));
    while (ran.length < 3) await turn();
    await turn();
    call("d", 0);
    expect(ran).toEqual(["a", "b", "c", "d"]);
  });
});
