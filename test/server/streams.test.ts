import { EventEmitter, on } from "node:events";
import {
  createServer,
  type Methods,
  method,
  Origin,
  type Params,
  type Peer,
  RpcError,
  type ServerOptions,
  stream,
} from "callwire";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { callsOf, cancelCall } from "../../src/protocol/origin-calls.ts";
import { ask, Gate, RecordingLog, requestText } from "./asking.ts";

/** A peer on a duplex wire that keeps what it receives. */
class RecordingPeer {
  readonly heard: { method: string; params: Params | undefined }[] = [];
  /** The answer of the wire to whether it accepts more. */
  full: Promise<void> | undefined = undefined;
  readonly peer: Peer = {
    ...new Origin().peer,
    canNotify: true,
    notify: (name, params) => {
      // A wire serializes what it sends, and throws if it cannot.
      JSON.stringify(params);
      return this.heard.push({ method: name, params }) > 0;
    },
    ready: () => this.full,
  };

  get items(): unknown[] {
    return this.heard.map(({ params }) => (params as { value: unknown }).value);
  }
}

function streaming(methods: Methods, options: ServerOptions = {}) {
  const log = new RecordingLog();
  const peer = new RecordingPeer();
  const origin = new Origin(undefined, peer.peer);
  return { server: createServer(methods, { log, ...options }), log, peer, origin };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 30; i++) await Promise.resolve();
}

const count = stream(
  { params: z.object({ to: z.number() }), item: z.number() },
  async function* ({ to }) {
    for (let i = 1; i <= to; i++) yield i;
  },
);

test("the items of a stream go out under the id of the call, and the reply ends it", async () => {
  const { server, peer, origin } = streaming({ count });
  expect(await ask(server, "count", [3], origin)).toEqual({ jsonrpc: "2.0", result: null, id: 1 });
  expect(peer.heard).toEqual([
    { method: "$/stream", params: { id: 1, value: 1 } },
    { method: "$/stream", params: { id: 1, value: 2 } },
    { method: "$/stream", params: { id: 1, value: 3 } },
  ]);
  expect(origin.streams?.size).toBe(0);
});

test("what a generator returns is the result of the call", async () => {
  const { server, peer, origin } = streaming({
    plain: async function* () {
      yield "a";
      return "end";
    },
    iterable: stream({}, () => ["b", "c"]),
    sync: function* () {
      yield "d";
    },
  });
  expect(await ask(server, "plain", [], origin)).toMatchObject({ result: "end" });
  expect(await ask(server, "iterable", [], origin)).toMatchObject({ result: null });
  expect(await ask(server, "sync", [], origin)).toMatchObject({ result: null });
  expect(peer.items).toEqual(["a", "b", "c", "d"]);
});

test("over a wire that only answers, a stream is refused and does not start", async () => {
  let started = false;
  const server = createServer({
    count: stream({}, async function* () {
      started = true;
      yield 1;
    }),
  });
  const response = await ask(server, "count");
  expect(response.error).toMatchObject({ code: -32007, message: "This method streams" });
  expect(response.error?.data).toContain("text/event-stream");
  expect(started).toBe(false);
});

test("a notification cannot ask for a stream", async () => {
  const { server, peer, origin } = streaming({ count });
  const text = '{"jsonrpc":"2.0","method":"count","params":[3]}';
  expect(await server.receive(text, origin)).toBeUndefined();
  expect(peer.heard).toEqual([]);
});

test("invalid params are refused before a stream starts", async () => {
  const { server, peer, origin } = streaming({ count });
  expect(await ask(server, "count", ["3"], origin)).toMatchObject({ error: { code: -32602 } });
  expect(peer.heard).toEqual([]);
});

test("an error ends a stream after the items before it, without its text", async () => {
  const { server, peer, origin, log } = streaming({
    fails: async function* () {
      yield 1;
      throw new Error("secret");
    },
    refuses: stream({ errors: { DRY: { code: 1001 } } }, async function* (_, __, errors) {
      yield 2;
      throw errors.DRY();
    }),
    wrong: stream({ item: z.number() }, async function* () {
      yield 3;
      yield "secret" as unknown as number;
    }),
    unwritable: async function* () {
      yield 4;
      yield 1n;
    },
  });
  const internal = { code: -32603, message: "Internal error" };
  expect((await ask(server, "fails", [], origin)).error).toEqual(internal);
  expect((await ask(server, "refuses", [], origin)).error).toEqual({ code: 1001, message: "Dry" });
  expect((await ask(server, "wrong", [], origin)).error).toEqual(internal);
  expect((await ask(server, "unwritable", [], origin)).error).toEqual(internal);
  expect(peer.items).toEqual([1, 2, 3, 4]);
  expect(log.entries.map(({ fields }) => fields["method"])).toEqual([
    "fails",
    "wrong",
    "unwritable",
  ]);
});

test("items go out as their schema transformed them", async () => {
  const { server, peer, origin } = streaming({
    numbers: stream({ item: z.string().transform(Number) }, () => ["1", "2"]),
  });
  await ask(server, "numbers", [], origin);
  expect(peer.items).toEqual([1, 2]);
});

test("a reader that gives credit gets no more than that", async () => {
  let made = 0;
  const { server, peer, origin } = streaming({
    endless: stream({}, async function* () {
      for (;;) yield ++made;
    }),
  });
  const answer = server.receive(requestText("endless"), origin);
  const give = origin.streams?.get(1);
  give?.(3);
  await turns();
  expect(peer.items).toEqual([1, 2, 3]);
  give?.(2);
  await turns();
  expect(peer.items).toEqual([1, 2, 3, 4, 5]);
  expect(made).toBe(6);
  cancelCall(callsOf(server.running, origin), 1);
  expect(await answer).toContain("-32800");
  await turns();
  expect(server.running.size).toBe(0);
});

test("a wire that is full stops the producer until it takes more", async () => {
  const { server, peer, origin } = streaming({ count });
  const room = new Gate<void>();
  peer.full = room.promise;
  const answer = server.receive(requestText("count", [2]), origin);
  await turns();
  expect(peer.items).toEqual([]);
  peer.full = undefined;
  room.open();
  expect(await answer).toContain('"result":null');
  expect(peer.items).toEqual([1, 2]);
});

test("a stream that is cancelled runs its cleanup and sends nothing more", async () => {
  const steps: string[] = [];
  const next = new Gate();
  const { server, peer, origin, log } = streaming({
    watch: stream({}, async function* (_, call) {
      try {
        yield "first";
        await next.promise;
        steps.push(call.signal.aborted ? "told" : "not told");
        yield "second";
      } finally {
        steps.push("cleaned up");
      }
    }),
  });
  const answer = server.receive(requestText("watch"), origin);
  await turns();
  cancelCall(callsOf(server.running, origin), 1);
  expect(await answer).toContain('"code":-32800');
  expect(steps).toEqual([]);
  next.open(undefined);
  await turns();
  expect(steps).toEqual(["told", "cleaned up"]);
  expect(peer.items).toEqual(["first"]);
  expect(origin.streams?.size).toBe(0);
  expect(server.running.size).toBe(0);
  expect(log.entries).toEqual([]);
});

test("a generator that waits for an event that never happens is left at once", async () => {
  const clock = new EventEmitter();
  const { server, peer, origin, log } = streaming({ ticks: stream({}, () => on(clock, "tick")) });
  const answer = server.receive(requestText("ticks"), origin);
  await turns();
  clock.emit("tick", 1);
  await turns();
  cancelCall(callsOf(server.running, origin), 1);
  expect(await answer).toContain('"code":-32800');
  await turns();
  expect(clock.listenerCount("tick")).toBe(0);
  expect(peer.items).toEqual([[1]]);
  expect(server.running.size).toBe(0);
  expect(log.entries).toEqual([]);
});

test("a stream lasts longer than calls may, unless it says otherwise", async () => {
  const clock = new FakeClock();
  const gate = new Gate();
  const wait = async function* () {
    await gate.promise;
    yield "done";
  };
  const { server, origin, peer } = streaming(
    {
      long: stream({}, wait),
      short: stream({ timeoutMs: 50 }, wait),
      call: method({}, () => gate.promise),
    },
    { clock, timeoutMs: 1_000 },
  );
  const ask = (name: string, id: number) => server.receive(requestText(name, [], { id }), origin);
  const [long, short, call] = [ask("long", 1), ask("short", 2), ask("call", 3)];
  clock.advance(10_000);
  expect(await short).toContain("-32003");
  expect(await call).toContain("-32003");
  gate.open(undefined);
  expect(await long).toContain('"result":null');
  expect(peer.items).toEqual(["done"]);
});

test("an origin has a limit for its streams", async () => {
  const gate = new Gate();
  const server = createServer({
    watch: stream({}, async function* () {
      await gate.promise;
      yield 1;
    }),
  });
  const limits = { maxInFlight: 100, maxStreams: 2 };
  const origin = new Origin(undefined, new RecordingPeer().peer, limits);
  const open = (id: number) => server.receive(requestText("watch", [], { id }), origin);
  const first = open(1);
  const second = open(2);
  expect(open(3)).toContain('"code":-32005');
  gate.open(undefined);
  await first;
  await second;
  expect(await open(4)).toContain('"result":null');
});

test("an error that is thrown before the first item is answered like any other", async () => {
  const { server, origin } = streaming({
    refuse: stream({}, () => {
      throw new RpcError(1001, "No");
    }),
    nothing: stream({}, () => undefined as unknown as string[]),
  });
  expect((await ask(server, "refuse", [], origin)).error).toEqual({ code: 1001, message: "No" });
  expect(await ask(server, "nothing", [], origin)).toMatchObject({ error: { code: -32603 } });
  expect(origin.streams?.size).toBe(0);
});
