/**
 * The replies to a batch arrive together, so none of its calls may delay the others without need.
 */
import { batching, createClient, createServer, method, type Peer, stream } from "callwire";
import { natsLink } from "callwire/nats";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { turn } from "../contract-methods.ts";
import { TestNats } from "./test-nats.ts";

const subject = "test";

/** Methods that run until they are cancelled. */
function lasting() {
  const begun = deferred();
  const stopped = deferred();
  const methods = {
    items: stream({}, async function* () {
      try {
        for (let i = 0; ; i++) {
          yield i;
          await turn();
        }
      } finally {
        stopped.resolve();
      }
    }),
    hold: method({}, (_, { signal }) => {
      signal.addEventListener("abort", () => stopped.resolve());
      begun.resolve();
      return stopped.promise;
    }),
    hi: () => "hi",
  };
  return { methods, begun: begun.promise, stopped: stopped.promise };
}

describeWith(["nats-server"], "a batch over NATS", () => {
  test("has its results although a stream is in it, which is stopped", async () => {
    const testNats = await TestNats.start();
    const { methods, stopped } = lasting();
    await testNats.serve(methods);
    const client = createClient<typeof methods>(natsLink(await testNats.connect(), { subject }));
    const outcomes = await client.batchSettled((b) => [b.hi(), b.items() as never]);
    expect(outcomes).toMatchObject([{ value: "hi" }, { reason: { code: "BAD_REPLY" } }]);
    await stopped;
  });

  test("continues without a cancelled call, which the worker notices", async () => {
    const testNats = await TestNats.start();
    const { methods, begun, stopped } = lasting();
    await testNats.serve(methods);
    const client = createClient(batching(natsLink(await testNats.connect(), { subject })));
    const controller = new AbortController();
    const held = client.call("hold", undefined, { signal: controller.signal });
    const quick = client.call("hi");
    await begun;
    controller.abort();
    await expect(held).rejects.toMatchObject({ code: "ABORTED" });
    await stopped;
    expect(await quick).toBe("hi");
  });

  test("does not begin a call that was cancelled while it waited for others", async () => {
    const testNats = await TestNats.start();
    const gate = deferred();
    const runs: number[] = [];
    const run = async (index: number) => {
      runs.push(index);
      await gate.promise;
    };
    const server = { limits: { maxBatchConcurrency: 1 } };
    await testNats.serve({ run, hi: () => "hi" }, { server });
    const connection = await testNats.connect();
    const client = createClient(batching(natsLink(connection, { subject })));
    const controller = new AbortController();
    const first = client.call("run", [0]);
    const given = client.call("run", [1], { signal: controller.signal });
    const last = client.call("run", [2]);
    while (runs.length === 0) await turn();
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    // Sent after the cancel, to the only worker.
    expect(await client.call("hi")).toBe("hi");
    gate.resolve();
    await Promise.all([first, last]);
    expect(runs).toEqual([0, 2]);
  });

  test("that calls back has its results although a stream is in it", async () => {
    const testNats = await TestNats.start();
    const { methods, stopped } = lasting();
    const settled = async ({ peer }: { peer: Peer }) => {
      const back = createClient<typeof methods>(peer);
      const outcomes = await back.batchSettled((b) => [b.hi(), b.items() as never]);
      return outcomes.map(({ status }) => status);
    };
    await testNats.serve({ ask: method({}, (_, call) => settled(call)) });
    const service = createServer(methods);
    const client = createClient(natsLink(await testNats.connect(), { subject, service }));
    expect(await client.call("ask")).toEqual(["fulfilled", "rejected"]);
    await stopped;
  });
});
