import { type Context, createServer, type Middleware, method, Origin, stream } from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { requestText } from "../server/asking.ts";

const awaiting: Middleware = (next) => async (request, context) => {
  await Promise.resolve();
  return next(request, context);
};

const reading: Middleware = (next) => (request, context) => {
  void context.deadline;
  return next(request, context);
};

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

async function endOf(
  clock: FakeClock,
  answer: unknown,
  mostMs: number,
): Promise<number | undefined> {
  const start = clock.now();
  let end: number | undefined;
  void Promise.resolve(answer).then(() => {
    end = clock.now();
  });
  await turns();
  while (end === undefined && clock.now() - start < mostMs) {
    clock.advance(10);
    await turns();
  }
  return end === undefined ? undefined : end - start;
}

test.each([
  ["awaits", awaiting],
  ["reads the deadline", reading],
])("a method keeps its own time limit behind middleware that %s", async (_, middleware) => {
  for (const timeoutMs of [200, 3_000]) {
    const clock = new FakeClock(1_000_000);
    const calls: Context[] = [];
    const server = createServer(
      {
        stuck: method({ timeoutMs }, (_params, call) => {
          calls.push(call);
          return new Promise(() => {});
        }),
      },
      { clock, timeoutMs: 1_000, use: [middleware] },
    );
    const took = await endOf(clock, server.receive(requestText("stuck")), 10_000);
    expect(took).toBeGreaterThanOrEqual(timeoutMs);
    expect(took).toBeLessThanOrEqual(timeoutMs + 20);
    expect(calls[0]?.deadline).toBeLessThanOrEqual(1_000_000 + timeoutMs + 10);
  }
});

test("a method gets its own time limit behind middleware in a server without one", async () => {
  const clock = new FakeClock();
  const server = createServer(
    { stuck: method({ timeoutMs: 200 }, () => new Promise(() => {})) },
    { clock, timeoutMs: Number.POSITIVE_INFINITY, use: [awaiting] },
  );
  const took = await endOf(clock, server.receive(requestText("stuck")), 10_000);
  expect(took).toBeGreaterThanOrEqual(200);
  expect(took).toBeLessThanOrEqual(220);
});

test("a caller's shorter time holds behind middleware", async () => {
  const clock = new FakeClock();
  const server = createServer(
    { stuck: method({ timeoutMs: 3_000 }, () => new Promise(() => {})) },
    { clock, timeoutMs: 1_000, use: [awaiting] },
  );
  const text = requestText("stuck", [], { timeoutMs: 100 });
  const took = await endOf(clock, server.receive(text), 10_000);
  expect(took).toBeLessThanOrEqual(120);
});

test.each([
  ["awaits", awaiting],
  ["reads the deadline", reading],
])(
  "a stream is not ended by the timeout of calls behind middleware that %s",
  async (_, middleware) => {
    const clock = new FakeClock();
    const server = createServer(
      {
        endless: stream({}, async function* () {
          await new Promise(() => {});
          yield 1;
        }),
      },
      { clock, timeoutMs: 1_000, use: [middleware] },
    );
    const origin = new Origin(undefined, { ...new Origin().peer, canNotify: true });
    expect(
      await endOf(clock, server.receive(requestText("endless"), origin), 5_000),
    ).toBeUndefined();
  },
);
