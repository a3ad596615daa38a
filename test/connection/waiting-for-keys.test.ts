import { createServer, type Middleware, Origin, silentLog } from "callwire";
import { type Channel, Connection } from "callwire/connection";
import { expect, test } from "vitest";
import { SealedChannel } from "../../src/connection/sealed-channel.ts";
import type { Seal } from "../../src/protocol/seal.ts";
import { HandChannel, PausingChannel, transport } from "./hand-channel.ts";

/** A seal that opens messages when the test says so. */
function slowSeal() {
  const waiting: (() => void)[] = [];
  const seal: Seal = {
    seal: (text) => text,
    open: (text) => new Promise((resolve) => waiting.push(() => resolve(text))),
  };
  return { seal, waiting };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const call = (id: number) => ({ jsonrpc: "2.0", method: "echo", params: [id], id });

function serve<C extends Channel>(channel: C, seal: Seal): C {
  const service = createServer({ echo: (value: unknown) => value }, { log: silentLog });
  new Connection(channel, { service, transport, seal: () => seal });
  return channel;
}

test("a connection is not read while the key of a message is looked up", async () => {
  const { seal, waiting } = slowSeal();
  const channel = serve(new PausingChannel(), seal);
  channel.hear(call(1));
  expect(channel.paused).toBe(true);
  await turn();
  waiting.shift()?.();
  await turn();
  expect(channel.messages).toMatchObject([{ id: 1, result: 1 }]);
  expect(channel.paused).toBe(false);
});

test("a connection that its reader has paused stays paused when a key was found", async () => {
  const { seal, waiting } = slowSeal();
  const channel = new PausingChannel();
  const sealed = new SealedChannel(channel, seal, new Origin(transport), silentLog);
  const messages: string[] = [];
  sealed.listen({ message: (text) => messages.push(text), fault() {}, drain() {}, end() {} });
  channel.hear(call(1));
  // It is already paused for the key.
  sealed.pause?.();
  await turn();
  waiting.shift()?.();
  await turn();
  expect(messages).toEqual([JSON.stringify(call(1))]);
  expect(channel.paused).toBe(true);
  sealed.resume?.();
  expect(channel.paused).toBe(false);
  sealed.pause?.();
  expect(channel.paused).toBe(true);
});

test("a seal that throws is an internal error, and is logged", () => {
  const thrown = new Error("no keys");
  const logged: unknown[] = [];
  const error = (fields: object) => void logged.push(fields);
  const seal: Seal = {
    seal: (text) => text,
    open() {
      throw thrown;
    },
  };
  const channel = new HandChannel();
  const service = createServer({ echo: () => 1 }, { log: { ...silentLog, error } });
  new Connection(channel, { service, transport, seal: () => seal });
  channel.hear(call(1));
  expect(channel.messages).toMatchObject([{ error: { code: -32603 } }]);
  expect(logged).toEqual([{ err: thrown }]);
});

test("on a wire that cannot wait, so many short messages may wait for a key and no more", async () => {
  const { seal, waiting } = slowSeal();
  const channel = serve(new HandChannel(), seal);
  for (let id = 1; id <= 1_005; id++) channel.hear(call(id));
  // The messages over the limit cannot be read yet, so their ids are unknown.
  expect(channel.messages).toEqual(
    Array.from({ length: 5 }, () => expect.objectContaining({ id: null })),
  );
  for (let opened = 0; opened < 1_000; opened++) {
    while (waiting.length === 0) await turn();
    waiting.shift()?.();
  }
  while (channel.messages.length < 1_005) await turn();
  expect(channel.messages.slice(5).map(({ result }) => result)).toEqual(
    Array.from({ length: 1_000 }, (_, i) => i + 1),
  );
});

test("a connection is not read while its credentials are checked", async () => {
  let decide: (verdict: undefined) => void = () => {};
  const admit: Middleware = Object.assign(((next) => next) as Middleware, {
    admit: () => () => new Promise<undefined>((resolve) => (decide = resolve)),
  });
  const service = createServer({ echo: () => 1 }, { log: silentLog, use: [admit] });
  const channel = new PausingChannel();
  const connection = new Connection(channel, { service, transport });
  expect(channel.paused).toBe(true);
  // Messages that were read before are kept, up to a limit.
  for (let id = 1; id <= 1_001; id++) channel.hear(call(id));
  expect(channel.messages).toMatchObject([{ id: null, error: { code: -32005 } }]);
  expect(connection.isOpen).toBe(false);
  decide(undefined);
  await turn();
  expect(channel.paused).toBe(false);
});
