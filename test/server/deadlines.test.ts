import {
  type Context,
  createServer,
  type Middleware,
  method,
  Origin,
  RpcError,
  type ServerOptions,
} from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { Gate, RecordingLog, requestText } from "./asking.ts";

const timedOut = '{"jsonrpc":"2.0","error":{"code":-32003,"message":"Request timeout"},"id":1}';
/** Deadlines are exact to within two ticks of the shared timer. */
const slackMs = 20;

function stuckServer(options: ServerOptions = {}, definition: { timeoutMs?: number } = {}) {
  const clock = new FakeClock(1_000_000);
  const log = new RecordingLog();
  const gate = new Gate();
  const calls: Context[] = [];
  const server = createServer(
    {
      stuck: method(definition, (_, call) => {
        calls.push(call);
        return gate.promise;
      }),
      quick: () => "quick",
    },
    { clock, log, timeoutMs: 1_000, ...options },
  );
  return { clock, log, gate, calls, server };
}

/** Whether an answer has come, once everything that waits only for its turn has run. */
async function hasCome(answer: unknown): Promise<boolean> {
  let come = false;
  void Promise.resolve(answer).then(() => {
    come = true;
  });
  for (let i = 0; i < 10; i++) await Promise.resolve();
  return come;
}

/** Expects a timeout as the answer exactly when the time is over. */
async function expectTimeout(clock: FakeClock, answer: unknown, afterMs: number): Promise<void> {
  clock.advance(afterMs - 1);
  expect(await hasCome(answer)).toBe(false);
  clock.advance(1 + slackMs);
  expect(await hasCome(answer)).toBe(true);
  expect(await answer).toBe(timedOut);
}

test("a call that takes too long is answered with -32003", async () => {
  const { clock, server } = stuckServer();
  await expectTimeout(clock, server.receive(requestText("stuck")), 1_000);
});

test("a call that is done in time is answered with its result", async () => {
  const { clock, gate, server } = stuckServer();
  const answer = server.receive(requestText("stuck"));
  clock.advance(990);
  gate.open("done");
  expect(await answer).toContain('"result":"done"');
  clock.advance(10_000);
});

test("calls have a minute by default", async () => {
  const clock = new FakeClock();
  const server = createServer({ stuck: () => new Promise(() => {}) }, { clock });
  await expectTimeout(clock, server.receive(requestText("stuck")), 60_000);
});

test("the signal aborts at the deadline, and says why", async () => {
  const { clock, calls, server } = stuckServer();
  const answer = server.receive(requestText("stuck"));
  const [call] = calls as [Context];
  const { signal } = call;
  expect(signal.aborted).toBe(false);
  clock.advance(1_000 + slackMs);
  expect(await answer).toBe(timedOut);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBeInstanceOf(RpcError);
  expect(signal.reason).toMatchObject({ code: -32003 });
});

test("a signal that is first read after the deadline is aborted already", async () => {
  const { clock, calls, server } = stuckServer();
  const answer = server.receive(requestText("stuck"));
  clock.advance(1_000 + slackMs);
  expect(await answer).toBe(timedOut);
  const [call] = calls as [Context];
  expect(call.signal.aborted).toBe(true);
  expect(call.signal.reason).toMatchObject({ code: -32003 });
});

test("a result after the deadline is dropped", async () => {
  const { clock, gate, log, server } = stuckServer();
  const answer = server.receive(requestText("stuck"));
  clock.advance(1_000 + slackMs);
  // If it were written, this result would be logged as one that JSON cannot express.
  gate.open(1n);
  expect(await answer).toBe(timedOut);
  expect(server.running.size).toBe(0);
  expect(log.entries).toEqual([]);
});

test("a handler that throws because it was ended is not logged as an error", async () => {
  const { clock, gate, log, server } = stuckServer();
  const answer = server.receive(requestText("stuck"));
  clock.advance(1_000 + slackMs);
  gate.fail(new Error("aborted"));
  expect(await answer).toBe(timedOut);
  expect(log.entries).toEqual([]);
});

test("a caller may ask for less time", async () => {
  const { clock, server } = stuckServer();
  await expectTimeout(clock, server.receive(requestText("stuck", [], { timeoutMs: 100 })), 100);
});

test("a caller may ask for no time at all", async () => {
  const { clock, server } = stuckServer();
  const answer = server.receive(requestText("stuck", [], { timeoutMs: 0 }));
  clock.advance(slackMs);
  expect(await answer).toBe(timedOut);
});

test("a caller cannot get more time than the server gives", async () => {
  for (const timeoutMs of [1_001, 100_000, Number.MAX_VALUE]) {
    const { clock, server } = stuckServer();
    await expectTimeout(clock, server.receive(requestText("stuck", [], { timeoutMs })), 1_000);
  }
  const { clock, server } = stuckServer();
  const text = '{"jsonrpc":"2.0","method":"stuck","id":1,"timeoutMs":1e400}';
  await expectTimeout(clock, server.receive(text), 1_000);
});

test("a timeout that makes no sense is ignored", async () => {
  for (const timeoutMs of [-1, "100", null, [100], { ms: 100 }, true]) {
    const { clock, server } = stuckServer();
    await expectTimeout(clock, server.receive(requestText("stuck", [], { timeoutMs })), 1_000);
  }
});

test("a wire may have the caller's timeout beside the message", async () => {
  const transport = { kind: "test", headers: {}, remoteAddress: undefined, timeoutMs: 100 };
  const { clock, server } = stuckServer();
  await expectTimeout(clock, server.receive(requestText("stuck"), new Origin(transport)), 100);
  const longer = stuckServer();
  const patient = new Origin({ ...transport, timeoutMs: 5_000 });
  await expectTimeout(longer.clock, longer.server.receive(requestText("stuck"), patient), 1_000);
});

test("a method may take longer or shorter than the others", async () => {
  for (const timeoutMs of [200, 5_000]) {
    const { clock, server } = stuckServer({}, { timeoutMs });
    await expectTimeout(clock, server.receive(requestText("stuck")), timeoutMs);
    const asked = stuckServer({}, { timeoutMs });
    const answer = asked.server.receive(requestText("stuck", [], { timeoutMs: 100 }));
    await expectTimeout(asked.clock, answer, 100);
  }
});

test("the time that middleware waits counts", async () => {
  const admission = new Gate<void>();
  const waiting: Middleware = (next) => async (request, context) => {
    await admission.promise;
    return next(request, context);
  };
  const { clock, server } = stuckServer({ use: [waiting] });
  const answer = server.receive(requestText("stuck"));
  clock.advance(600);
  admission.open();
  expect(await hasCome(answer)).toBe(false);
  await expectTimeout(clock, answer, 400);
});

test("without a timeout a call may take forever", async () => {
  const { clock, gate, server } = stuckServer({ timeoutMs: Number.POSITIVE_INFINITY });
  const answer = server.receive(requestText("stuck"));
  clock.advance(10 * 365 * 24 * 3_600_000);
  expect(await hasCome(answer)).toBe(false);
  gate.open("done");
  expect(await answer).toContain("done");
});

test("a deadline beyond the longest timer is kept", async () => {
  const month = 31 * 24 * 3_600_000;
  const { clock, server } = stuckServer({ timeoutMs: month });
  await expectTimeout(clock, server.receive(requestText("stuck")), month);
});

test("a notification that takes too long is ended without an answer", async () => {
  const { clock, calls, server } = stuckServer();
  const answer = server.receive('{"jsonrpc":"2.0","method":"stuck"}');
  const [call] = calls as [Context];
  const { signal } = call;
  clock.advance(1_000 + slackMs);
  expect(await answer).toBeUndefined();
  expect(signal.aborted).toBe(true);
});

test("an entry of a batch that takes too long fails alone", async () => {
  const { clock, server } = stuckServer();
  const answer = server.receive(
    `[${requestText("quick", [], { id: 2 })},${requestText("stuck")},${requestText("quick", [], { id: 3 })}]`,
  );
  clock.advance(1_000 + slackMs);
  const quick = (id: number) => `{"jsonrpc":"2.0","result":"quick","id":${id}}`;
  expect(await answer).toBe(`[${quick(2)},${timedOut},${quick(3)}]`);
});

test("each of many calls ends at its own time, with one timer for all", async () => {
  const { clock, server } = stuckServer({ timeoutMs: 1_000_000 });
  const ended: number[] = [];
  const times = Array.from({ length: 50 }, (_, i) => 100 + ((i * 37) % 50) * 100);
  for (const timeoutMs of times) {
    const answer = server.receive(requestText("stuck", [], { timeoutMs }));
    void Promise.resolve(answer).then(() => ended.push(timeoutMs));
    expect(clock.waiting).toBe(1);
    clock.advance(1);
  }
  let expected: number[] = [];
  for (let step = 0; step < 60; step++) {
    clock.advance(100);
    expect(clock.waiting).toBeLessThanOrEqual(1);
    await hasCome(undefined);
    expect(ended.length).toBeGreaterThanOrEqual(expected.length);
    expected = [...ended];
  }
  expect(ended).toEqual([...times].sort((a, b) => a - b));
  expect(clock.waiting).toBe(0);
});

test("calls that end at once set no timer", () => {
  const { clock, server } = stuckServer();
  for (let i = 0; i < 10; i++) void server.receive(requestText("quick"));
  expect(clock.waiting).toBe(0);
});

test.each([-1, Number.NaN, "5", "x"])("a timeout of %j is refused where it is given", (given) => {
  const timeoutMs = given as number;
  const refusal = new TypeError(`timeoutMs must be a number of at least 0, not ${given}`);
  expect(() => createServer({}, { timeoutMs })).toThrow(refusal);
  expect(() => method({ timeoutMs }, () => 1)).toThrow(refusal);
});
