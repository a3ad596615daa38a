/** Callers that make a worker do or keep far more than what they send. */
import {
  createServer,
  ErrorCode,
  type Methods,
  type ServerOptions,
  silentLog,
  stream,
} from "callwire";
import { serveNats } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { LinkedList } from "../../../src/protocol/linked-list.ts";
import type { Mailbox } from "../../../src/transports/nats/mailbox.ts";
import { announce } from "../../../src/transports/nats/service-protocol.ts";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "test";

async function scene(methods: Methods, options: ServerOptions = {}, config = "") {
  const testNats = await TestNats.start(config);
  const clock = new FakeClock();
  const connection = await testNats.connect();
  const server = createServer(methods, { log: silentLog, ...options });
  onTestFinished(() => server.close({ drainMs: 0 }));
  await serveNats(server, connection, { subject, clock });
  const caller = await testNats.connect();
  const send = (method: string, id: number, reply: string): void =>
    caller.publish(`${subject}.${method}`, textOf({ method, id }), { reply });
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) for (const each of [caller, connection]) await each.flush();
  };
  const round = async (): Promise<void> => {
    clock.advance(5_000);
    await settle();
  };
  return { caller, send, settle, round };
}

const textOf = (message: object): string => JSON.stringify({ jsonrpc: "2.0", ...message });

/** A method whose calls all wait for the same gate. */
function waiting(result: unknown = "done") {
  const gate = deferred();
  onTestFinished(() => gate.resolve());
  const counts = { begun: 0, ended: 0 };
  const wait = async (): Promise<unknown> => {
    counts.begun++;
    await gate.promise;
    counts.ended++;
    return result;
  };
  return { wait, gate, counts };
}

describeWith(["nats-server"], "a caller on NATS that sends little", () => {
  test("does not have a worker search its calls for each of the tokens that it lists", async () => {
    const { wait } = waiting();
    const { caller, send, round, settle } = await scene({ wait });
    const held = Array.from({ length: 1_000 }, (_, i) => `x${i}`);
    const answered = deferred();
    const list = vi.spyOn(LinkedList.prototype, "list");
    onTestFinished(() => list.mockRestore());
    caller.subscribe("_INBOX.a.cw.*", {
      callback: (_, message) => {
        if (!message.string().includes("$/ping")) return;
        list.mockClear();
        message.respond(textOf({ method: "$/unwanted", params: { held } }));
        answered.resolve();
      },
    });
    await caller.flush();
    for (let i = 0; i < 10; i++) send("wait", i, `_INBOX.a.cw.o${i}`);
    await settle();
    for (let i = 0; i < 2; i++) await round();
    await answered.promise;
    await settle();
    expect(list.mock.calls.length).toBeGreaterThan(0);
    expect(list.mock.calls.length).toBeLessThan(100);
  });

  test("gets one answer to a probe, however many of its calls share a reply subject", async () => {
    const { wait } = waiting();
    const { caller, send, settle } = await scene({ wait });
    let answers = 0;
    caller.subscribe("_INBOX.a.b", {
      callback: (_, message) => {
        if (message.string().includes("$/held")) answers++;
      },
    });
    for (let i = 0; i < 50; i++) send("wait", i, "_INBOX.a.b");
    const held = textOf({ method: "$/held" });
    caller.publish(`_CALLWIRE.${subject}.workers`, held, { reply: "_INBOX.a.b" });
    await settle();
    expect(answers).toBe(1);
  });

  test("does not keep its streams after it is gone by reply subjects too long for a probe", async () => {
    let isAborted = false;
    const { wait, gate } = waiting();
    const endless = stream({}, async function* (_, call) {
      call.signal.addEventListener("abort", () => {
        isAborted = true;
      });
      yield 1;
      await gate.promise;
    });
    const { send, settle, round } = await scene({ endless, wait }, {}, "max_payload: 64KB");
    // In JSON, each character takes six times its length.
    const long = "\u0001".repeat(980);
    for (let i = 0; i < 20; i++) send("wait", i, `_INBOX.a.cw.${long}${i}`);
    send("endless", 20, `_INBOX.a.cw.${long}20`);
    await settle();
    for (let i = 0; i < 3; i++) await round();
    expect(isAborted).toBe(true);
  });

  test("does not fill memory with long replies that are made in the same turn", async () => {
    const { wait, gate, counts } = waiting("x".repeat(100_000));
    const { caller, send, settle } = await scene(
      { wait, ping: () => "pong" },
      { maxWireBytes: 500_000 },
    );
    const replies: { readonly error?: { readonly code: number; readonly data: unknown } }[] = [];
    caller.subscribe("_INBOX.a.b.*", {
      callback: (_, message) => void replies.push(message.json()),
    });
    for (let i = 0; i < 50; i++) send("wait", i, `_INBOX.a.b.${i}`);
    await settle();
    expect(counts.begun).toBe(50);
    gate.resolve();
    await expect.poll(() => replies.length).toBe(50);
    const refused = replies.filter(({ error }) => error !== undefined);
    expect(refused.length).toBeGreaterThan(35);
    expect(refused.length).toBeLessThan(50);
    for (const { error } of refused)
      expect(error).toMatchObject({ code: ErrorCode.ServerBusy, data: { ran: true } });
    const next = await caller.request(
      `${subject}.ping`,
      textOf({ method: "ping", id: 1 }),
      patient,
    );
    expect(next.json()).toMatchObject({ result: "pong" });
  });
});

test("a worker does not answer questions about itself while NATS takes nothing from it", () => {
  const sent: string[] = [];
  const receivers: ((message: unknown, reply: string) => void)[] = [];
  const mailbox = {
    bufferedBytes: 0,
    fits: () => true,
    listen: (_: string, receive: () => void) => receivers.push(receive),
    trySend(reply: string, text: string) {
      sent.push(reply);
      this.bufferedBytes += text.length;
    },
  };
  const identity = { name: "a", id: "b", version: "0.0.0", description: "x".repeat(100_000) };
  announce(mailbox as unknown as Mailbox, identity, () => []);
  for (let i = 0; i < 100; i++) for (const receive of receivers) receive({}, "_INBOX.a");
  expect(sent.length).toBeLessThan(200);
  expect(sent.length).toBeGreaterThan(10);
});
