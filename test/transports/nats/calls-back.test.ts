/** A worker that calls its caller back does not change where messages about the call go. */
import type { NatsConnection } from "@nats-io/transport-node";
import {
  createClient,
  createServer,
  ErrorCode,
  type Methods,
  method,
  type Peer,
  type RpcError,
  stream,
} from "callwire";
import { natsLink } from "callwire/nats";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { TestNats } from "./test-nats.ts";

const subject = "test";
const aliveMs = 1_000;
const own = { hi: () => "hi", echo: (value: unknown) => value };

/** A worker, and a client whose time stands still until the test moves it. */
async function joined(methods: Methods, service: Methods | null = own) {
  const testNats = await TestNats.start();
  const { connection: worker } = await testNats.serve(methods, { aliveMs: 1e6 });
  const connection = await testNats.connect();
  const clock = new FakeClock();
  const options = service === null ? {} : { service: createServer(service) };
  const link = natsLink(connection, { subject, aliveMs, clock, ...options });
  const passTime = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      clock.advance(aliveMs);
      await settled(worker, connection);
    }
  };
  return { client: createClient(link), passTime };
}

/** Long enough that everything that was sent has arrived, and has been answered. */
async function settled(...connections: NatsConnection[]): Promise<void> {
  for (let i = 0; i < 3; i++) await Promise.all(connections.map((each) => each.flush()));
}

/** Both at once, over the reply subject of the call or that of its caller. */
function twoAtOnce(peer: Peer): Promise<unknown> {
  return createClient<typeof own>(peer).batch((b) => [b.hi(), b.echo("two")]);
}

describeWith(["nats-server"], "calls back over NATS", () => {
  test("are refused if they are longer than the caller takes", async () => {
    const service = createServer(own, { limits: { maxMessageBytes: 1_000 } });
    const testNats = await TestNats.start();
    await testNats.serve({
      ask: method({}, (_, call) =>
        call.peer.call("echo", ["x".repeat(2_000)]).catch(({ data }: RpcError) => data),
      ),
    });
    const client = createClient(natsLink(await testNats.connect(), { subject, service }));
    expect(await client.call("ask")).toMatchObject({ limit: "maxMessageBytes", max: 1_000 });
  });

  test("do not keep the cancel of their call from its worker", async () => {
    const answered = deferred();
    const cancelled = deferred();
    const { client } = await joined({
      ask: method({}, async (_, call) => {
        await call.peer.call("hi");
        call.signal.addEventListener("abort", () => cancelled.resolve());
        answered.resolve();
        await cancelled.promise;
      }),
    });
    const controller = new AbortController();
    const call = client.call("ask", undefined, { signal: controller.signal });
    await answered.promise;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await cancelled.promise;
  });

  test("do not make a call that continues look lost", async () => {
    const answered = deferred();
    const gate = deferred();
    const { client, passTime } = await joined({
      ask: method({}, async (_, call) => {
        await call.peer.call("hi");
        answered.resolve();
        await gate.promise;
        return "at last";
      }),
    });
    const call = client.call("ask");
    await Promise.race([call, answered.promise]);
    await Promise.race([call, passTime(10)]);
    gate.resolve();
    expect(await call).toBe("at last");
  });

  test("do not lead the credit of a stream astray", async () => {
    const { client } = await joined({
      items: stream({}, async function* (_, call) {
        for (let i = 0; i < 200; i++) {
          yield i;
          await call.peer.call("hi");
        }
      }),
    });
    let count = 0;
    for await (const item of client.stream("items")) expect(item).toBe(count++);
    expect(count).toBe(200);
  });

  test.each([
    ["of the call", ({ peer }: { peer: Peer }) => peer],
    ["of the caller", ({ peer }: { peer: Peer }) => peer.end as Peer],
  ])("may be batches, over the way %s", async (_, wayOf) => {
    const { client } = await joined({ ask: method({}, (_, call) => twoAtOnce(wayOf(call))) });
    expect(await client.call("ask")).toEqual(["hi", "two"]);
  });

  test("are refused one by one if a batch reaches a caller without methods", async () => {
    const codes = async ({ peer }: { peer: Peer }) => {
      const back = createClient<typeof own>(peer);
      const outcomes = await back.batchSettled((b) => [b.hi(), b.echo("two")]);
      return outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code);
    };
    const { client } = await joined({ ask: method({}, (_, call) => codes(call)) }, null);
    expect(await client.call("ask")).toEqual([ErrorCode.MethodNotFound, ErrorCode.MethodNotFound]);
  });
});
