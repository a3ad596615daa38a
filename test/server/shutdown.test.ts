import { type Context, createServer, method, type Server } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { Gate, requestText } from "./asking.ts";

const refused =
  '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down","data":{"ran":false,"reason":"stopping"}},"id":1}';

const ended =
  '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down",' +
  '"data":{"ran":true,"reason":"stopping","details":"the server ended the call before it was done"}},"id":1}';

async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  for (let i = 0; i < 20; i++) await Promise.resolve();
  return done;
}

function drainable() {
  const clock = new FakeClock();
  const gate = new Gate();
  const calls: Context[] = [];
  let runs = 0;
  const server = createServer(
    {
      wait: method({}, (_, call) => {
        calls.push(call);
        return gate.promise;
      }),
      count: () => ++runs,
    },
    { clock, timeoutMs: 1_000_000 },
  );
  return { clock, gate, calls, server, runs: () => runs };
}

test("a server without running calls closes at once", async () => {
  const { clock, server } = drainable();
  await server.close();
  expect(clock.waiting).toBe(0);
});

test("before a server refuses calls, wires may send new callers elsewhere, for a while", async () => {
  for (const drainMs of [1_000, undefined]) {
    const { clock, server } = drainable();
    const gate = new Gate();
    let left = 0;
    server.beforeDrain(() => gate.promise.then(() => void left++));
    server.beforeDrain(() => Promise.reject(new Error("nowhere to go")));
    const closing = server.close(drainMs === undefined ? {} : { drainMs });
    expect(server.receive(requestText("count"))).toContain('"result":1');
    if (drainMs === undefined) gate.open("gone");
    else clock.advance(drainMs);
    await closing;
    expect(left).toBe(drainMs === undefined ? 1 : 0);
    expect(server.receive(requestText("count"))).toBe(refused);
  }
});

test("closing waits for the calls that run, and their answers arrive", async () => {
  const { gate, server } = drainable();
  const answer = server.receive(requestText("wait"));
  const closing = server.close();
  expect(await settled(closing)).toBe(false);
  gate.open("done");
  expect(await answer).toContain('"result":"done"');
  await closing;
});

test("a server that closes refuses new calls, and runs no notification", async () => {
  const { gate, server, runs } = drainable();
  const answer = server.receive(requestText("wait"));
  const closing = server.close();
  expect(server.receive(requestText("count"))).toBe(refused);
  expect(server.receive(`[${requestText("count")}]`)).toBe(`[${refused}]`);
  expect(server.receive('{"jsonrpc":"2.0","method":"count"}')).toBeUndefined();
  expect(runs()).toBe(0);
  gate.open("done");
  await answer;
  await closing;
  expect(server.receive(requestText("count"))).toBe(refused);
  expect(runs()).toBe(0);
});

test("calls that do not finish are ended after the time to drain", async () => {
  const { clock, gate, calls, server } = drainable();
  const answer = server.receive(requestText("wait"));
  const [call] = calls as [Context];
  const { signal } = call;
  const closing = server.close({ drainMs: 500 });
  clock.advance(499);
  expect(await settled(closing)).toBe(false);
  expect(signal.aborted).toBe(false);
  clock.advance(1);
  expect(await answer).toBe(ended);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toMatchObject({ code: -32006 });
  await closing;
  gate.open("late");
});

test("calls have ten seconds to drain by default", async () => {
  const { clock, server } = drainable();
  const answer = server.receive(requestText("wait"));
  const closing = server.close();
  clock.advance(9_999);
  expect(await settled(closing)).toBe(false);
  clock.advance(1);
  expect(await answer).toBe(ended);
  await closing;
});

test("closing does not wait for drainMs once all calls have ended", async () => {
  const clock = new FakeClock();
  const gate = new Gate();
  const server = createServer(
    { wait: () => gate.promise },
    { clock, timeoutMs: Number.POSITIVE_INFINITY },
  );
  const answer = server.receive(requestText("wait"));
  const closing = server.close();
  gate.open("done");
  await answer;
  await closing;
  clock.advance(20);
  expect(clock.waiting).toBe(0);
});

test("closing twice is closing once", async () => {
  const { clock, gate, server } = drainable();
  let closed = 0;
  server.onClose(() => closed++);
  const answer = server.receive(requestText("wait"));
  const first = server.close();
  expect(server.close({ drainMs: 0 })).toBe(first);
  clock.advance(1);
  expect(await settled(first)).toBe(false);
  gate.open("done");
  await answer;
  await first;
  expect(closed).toBe(1);
});

test("wires close after the last call, and closing waits for them", async () => {
  const { gate, server } = drainable();
  const steps: string[] = [];
  const wire = new Gate();
  server.onClose(async () => {
    steps.push("wire closes");
    await wire.promise;
    steps.push("wire closed");
  });
  const answer = Promise.resolve(server.receive(requestText("wait"))).then(() =>
    steps.push("call done"),
  );
  const closing = server.close().then(() => steps.push("server closed"));
  expect(await settled(closing)).toBe(false);
  expect(steps).toEqual([]);
  gate.open("done");
  await answer;
  expect(await settled(closing)).toBe(false);
  wire.open(undefined);
  await closing;
  expect(steps).toEqual(["call done", "wire closes", "wire closed", "server closed"]);
});

test("`await using` closes a server at the end of its scope", async () => {
  let kept: Server | undefined;
  {
    await using server: Server = drainable().server;
    kept = server;
  }
  expect(kept.receive(requestText("count"))).toBe(refused);
});
