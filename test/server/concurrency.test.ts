import { createClient, createServer, method, Origin, type Reply, silentLog } from "callwire";
import { Connection, memoryChannels, memoryPair } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { abandonCalls, callsOf, dropCall } from "../../src/protocol/origin-calls.ts";
import { Gate, requestText } from "./asking.ts";

const busy =
  '{"jsonrpc":"2.0","error":{"code":-32005,"message":"Server busy","data":{"ran":false,"reason":"busy","retryAfterMs":1000}},"id":1}';

test("more calls than may run are refused at once, until one is done", async () => {
  const gates = [new Gate(), new Gate(), new Gate()];
  const server = createServer(
    { wait: (index: number) => gates[index]?.promise, quick: () => "quick" },
    { maxRunning: 2 },
  );
  const first = server.receive(requestText("wait", [0]));
  const second = server.receive(requestText("wait", [1]));
  expect(server.running.size).toBe(2);
  expect(server.receive(requestText("wait", [2]))).toBe(busy);
  expect(server.receive(requestText("quick"))).toBe(busy);
  gates[0]?.open("first");
  expect(await first).toContain("first");
  const third = server.receive(requestText("wait", [2]));
  expect(server.receive(requestText("quick"))).toBe(busy);
  gates[1]?.open("second");
  gates[2]?.open("third");
  expect(await second).toContain("second");
  expect(await third).toContain("third");
  expect(server.receive(requestText("quick"))).toContain("quick");
  expect(server.running.size).toBe(0);
});

test("a notification beyond the limit is dropped without an answer", async () => {
  let runs = 0;
  const gate = new Gate();
  const server = createServer({ wait: () => gate.promise, count: () => ++runs }, { maxRunning: 1 });
  const answer = server.receive(requestText("wait"));
  expect(server.receive('{"jsonrpc":"2.0","method":"count"}')).toBeUndefined();
  expect(runs).toBe(0);
  gate.open(1);
  await answer;
  void server.receive('{"jsonrpc":"2.0","method":"count"}');
  expect(runs).toBe(1);
});

test("an entry of a batch beyond the limit is refused alone", async () => {
  const gate = new Gate();
  const server = createServer({ wait: () => gate.promise }, { maxRunning: 1 });
  const answer = server.receive(`[${requestText("wait", [], { id: 0 })},${requestText("wait")}]`);
  gate.open("done");
  expect(await answer).toBe(`[{"jsonrpc":"2.0","result":"done","id":0},${busy}]`);
});

test("a call that was ended counts until its handler is done", async () => {
  const clock = new FakeClock();
  const gate = new Gate();
  const server = createServer(
    { wait: () => gate.promise },
    { maxRunning: 1, timeoutMs: 100, clock },
  );
  const answer = server.receive(requestText("wait"));
  clock.advance(200);
  expect(await answer).toContain("-32003");
  expect(server.receive(requestText("wait"))).toBe(busy);
  gate.open("late");
  await gate.promise;
  expect(server.running.size).toBe(0);
  expect(await server.receive(requestText("wait"))).toContain("late");
});

test("a call that is dropped ends its handler, and has no answer", async () => {
  let reason: unknown;
  const server = createServer({
    wait: method({}, (_, { signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          resolve("late");
        });
      });
    }),
  });
  const origin = new Origin();
  const answer = server.receive(requestText("wait"), origin);
  dropCall(callsOf(server.running, origin), 2);
  expect(reason).toBeUndefined();
  dropCall(callsOf(server.running, origin), 1);
  expect(reason).toMatchObject({ code: -32800 });
  expect(await answer).toBeUndefined();
});

test("the calls of one origin have their own limit", async () => {
  const gate = new Gate();
  const server = createServer({ wait: () => gate.promise });
  const origin = new Origin(undefined, undefined, { maxInFlight: 1, maxStreams: 1 });
  const other = new Origin(undefined, undefined, { maxInFlight: 1, maxStreams: 1 });
  const first = server.receive(requestText("wait"), origin);
  expect(server.receive(requestText("wait"), origin)).toBe(busy);
  const second = server.receive(requestText("wait"), other);
  expect(second).toBeInstanceOf(Promise);
  gate.open("done");
  expect(await first).toContain("done");
  expect(await second).toContain("done");
  expect(origin.inFlight).toBe(0);
  expect(await server.receive(requestText("wait"), origin)).toContain("done");
});

test("the entries of a batch run at the same time, within their limit", async () => {
  const gates: Gate[] = [];
  let most = 0;
  let running = 0;
  const server = createServer(
    {
      work: async (index: number) => {
        running++;
        most = Math.max(most, running);
        const gate = new Gate();
        gates[index] = gate;
        await gate.promise;
        running--;
        return index;
      },
    },
    { limits: { maxBatchConcurrency: 3 } },
  );
  const entries = Array.from({ length: 8 }, (_, id) => requestText("work", [id], { id }));
  const answer = server.receive(`[${entries.join(",")}]`);
  expect(gates).toHaveLength(3);
  // The last call that started ends first, so the order of the answers is not the order in which
  // calls end.
  for (let done = 0; done < 8; done++) {
    const last = gates.findLastIndex((gate) => gate !== undefined);
    gates[last]?.open(undefined);
    delete gates[last];
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }
  const replies = JSON.parse((await answer) as string) as { id: number; result: number }[];
  expect(replies.map(({ id, result }) => [id, result])).toEqual(
    Array.from({ length: 8 }, (_, id) => [id, id]),
  );
  expect(most).toBe(3);
});

test("a batch starts up to 32 entries at once by default", async () => {
  const gate = new Gate();
  let started = 0;
  const server = createServer({
    work: () => {
      started++;
      return gate.promise;
    },
  });
  const answer = server.receive(`[${Array(50).fill(requestText("work")).join(",")}]`);
  expect(started).toBe(32);
  gate.open("done");
  expect(JSON.parse((await answer) as string)).toHaveLength(50);
  expect(started).toBe(50);
});

test("what is left of a batch does not start once its wire broke", async () => {
  const gate = new Gate();
  let started = 0;
  const server = createServer(
    {
      work: method({}, () => {
        started++;
        return gate.promise;
      }),
    },
    { limits: { maxBatchConcurrency: 2 } },
  );
  const origin = new Origin();
  const answer = server.receive(`[${Array(5).fill(requestText("work")).join(",")}]`, origin);
  expect(started).toBe(2);
  abandonCalls(server.running, origin, { code: -32800, message: "Request cancelled" });
  gate.open("done");
  expect(await answer).toBeUndefined();
  expect(started).toBe(2);
});

test("a batch is answered when a middleware's thenable answers at once", async () => {
  const gate = new Gate();
  const atOnce = { then: (give: (reply: unknown) => void) => give({ result: "at once" }) };
  const server = createServer(
    { quick: () => 0, slow: () => gate.promise },
    {
      use: [
        (next) => (request, context) =>
          request.method === "quick" ? (atOnce as PromiseLike<Reply>) : next(request, context),
      ],
      limits: { maxBatchConcurrency: 1 },
    },
  );
  const text = `[${["quick", "slow", "quick"].map((name, id) => requestText(name, [], { id })).join(",")}]`;
  const answer = server.receive(text);
  gate.open("slow");
  const replies = JSON.parse((await answer) as string) as { result: string }[];
  expect(replies.map(({ result }) => result)).toEqual(["at once", "slow", "at once"]);
});

test("a middleware's thenable that throws is an internal error, and the call is over", async () => {
  const broken = {
    then() {
      throw new Error("broken");
    },
  };
  const server = createServer(
    { quick: () => 0 },
    { use: [() => () => broken as unknown as PromiseLike<Reply>], log: silentLog },
  );
  expect(await server.receive(requestText("quick"))).toContain("Internal error");
  expect(server.running.size).toBe(0);
});

test("a batch whose replies are too long starts no more of its entries", async () => {
  let started = 0;
  const server = createServer(
    {
      async work() {
        started++;
        return "x".repeat(80);
      },
    },
    { limits: { maxBatchConcurrency: 1, maxReplyLength: 300 } },
  );
  const answer = await server.receive(`[${Array(9).fill(requestText("work")).join(",")}]`);
  expect(answer).toContain('"code":-32008');
  expect(started).toBe(3);
});

test("an entry of a batch that is cancelled while it waits for others does not begin", async () => {
  const gate = new Gate();
  const runs: number[] = [];
  const server = createServer(
    {
      run: (index: number) => {
        runs.push(index);
        return gate.promise;
      },
    },
    { limits: { maxBatchConcurrency: 1 } },
  );
  const [near] = memoryPair(undefined, server);
  const client = createClient(near, { batch: true });
  const cancel = new AbortController();
  const first = client.call("run", [0]);
  const given = client.call("run", [1], { signal: cancel.signal });
  const last = client.call("run", [2]);
  await expect.poll(() => runs).toEqual([0]);
  cancel.abort();
  await expect(given).rejects.toMatchObject({ code: "ABORTED" });
  gate.open("done");
  expect(await Promise.all([first, last])).toEqual(["done", "done"]);
  expect(runs).toEqual([0, 2]);
});

test("an entry that was cancelled while it waited is answered so, and its id is free again", async () => {
  const gate = new Gate();
  const server = createServer(
    { wait: () => gate.promise, quick: () => "quick" },
    { limits: { maxBatchConcurrency: 1 } },
  );
  const [channel, other] = memoryChannels();
  const heard: unknown[] = [];
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const { origin } = new Connection(other, { service: server, transport });
  channel.listen({
    message: (text) => heard.push(JSON.parse(text)),
    fault() {},
    drain() {},
    end() {},
  });
  const cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}';
  channel.send(`[${requestText("wait")},{"jsonrpc":"2.0","method":"quick","id":2}]`);
  channel.send(cancel);
  await expect.poll(() => origin.queues?.size).toBe(1);
  gate.open("done");
  await expect
    .poll(() => heard)
    .toEqual([
      [
        { jsonrpc: "2.0", result: "done", id: 1 },
        { jsonrpc: "2.0", error: { code: -32800, message: expect.any(String) }, id: 2 },
      ],
    ]);
  expect(origin.queues?.size).toBe(0);
  channel.send('{"jsonrpc":"2.0","method":"quick","id":2}');
  await expect.poll(() => heard[1]).toEqual({ jsonrpc: "2.0", result: "quick", id: 2 });
});
