import { createClient, method, RpcError } from "callwire";
import { natsLink } from "callwire/nats";
import type { NatsConnection, QueuedIterator, RequestManyOptions, ServiceMsg } from "nats";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../services.ts";
import { patient, TestNats } from "../transports/nats/test-nats.ts";

/** The client of the NATS authors, which has services of its own. */
async function connectPeer({ nats }: TestNats): Promise<NatsConnection> {
  const { connect } = await import("nats");
  const peer = await connect({ port: nats.port });
  onTestFinished(() => peer.close());
  return peer;
}

/** Readers leave when they have enough; by default the client waits 300 ms for another answer. */
const asking = { strategy: "timer", maxWait: 30_000 } as RequestManyOptions;

/** What the client reads out of these answers, by the names of the services. */
async function read<T extends { readonly name: string }>(
  asked: Promise<QueuedIterator<T>>,
  count: number,
): Promise<Map<string, T>> {
  const answers = new Map<string, T>();
  for await (const answer of await asked) {
    answers.set(answer.name, answer);
    if (answers.size === count) break;
  }
  return answers;
}

/** The names and types of all members at any depth; of an array, those of its first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, shapeOf(member)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

describeWith(["npm peers", "nats-server"], "the service protocol of NATS", () => {
  test("its own client finds workers like other services, and reads the same data", async () => {
    const testNats = await TestNats.start();
    // Both fail once, since an endpoint that never failed may leave out its last error.
    const echo = (text: string): string => {
      if (text === "fail") throw new RpcError(1001, "Refused");
      return text;
    };
    const { worker } = await testNats.serve(
      { echo },
      { name: "ours", version: "1.2.3", description: "Echoes" },
    );
    const peer = await connectPeer(testNats);
    const theirs = await peer.services.add({
      name: "theirs",
      version: "1.2.3",
      description: "Echoes",
      queue: "q",
      metadata: {},
    });
    theirs.addEndpoint("echo", {
      subject: "theirs.echo",
      handler: (_: Error | null, message: ServiceMsg) =>
        void message.respond(echo(message.string())),
      metadata: {},
    });
    await peer.flush();
    const client = createClient(natsLink(await testNats.connect(), { subject: "test" }));
    expect(await client.call("echo", ["hello"])).toBe("hello");
    await expect(client.call("echo", ["fail"])).rejects.toThrow("Refused");
    await peer.request("theirs.echo", "hello", patient);
    await peer.request("theirs.echo", "fail", patient);

    const services = peer.services.client(asking);
    for (const asked of [services.ping(), services.info(), services.stats()]) {
      const answers = await read<{ name: string }>(asked as never, 2);
      expect(shapeOf(answers.get("ours"))).toEqual(shapeOf(answers.get("theirs")));
    }
    const named = await read(services.info("ours"), 1);
    expect(named.get("ours")).toMatchObject({
      id: worker.id,
      version: "1.2.3",
      description: "Echoes",
    });
    const stats = (await read(services.stats("ours", worker.id), 1)).get("ours");
    const endpoint = stats?.endpoints?.find(({ name }) => name === "echo");
    expect(endpoint).toMatchObject({ subject: "test.echo", num_requests: 2, num_errors: 1 });
    const { processing_time = 0, average_processing_time } = endpoint ?? {};
    expect(processing_time).toBeGreaterThan(0);
    expect(average_processing_time).toBe(Math.round(processing_time / 2));
  });

  test("its own client sees errors counted, and every worker of a name", async () => {
    const testNats = await TestNats.start();
    const fail = method({}, () => {
      throw new RpcError(1001, "Refused");
    });
    const ids = new Set<string>();
    for (let i = 0; i < 3; i++) ids.add((await testNats.serve({ fail })).worker.id);
    const peer = await connectPeer(testNats);
    const client = createClient(natsLink(await testNats.connect(), { subject: "test" }));
    for (let i = 0; i < 5; i++) await expect(client.call("fail")).rejects.toThrow("Refused");
    const seen = new Map<string, number>();
    for await (const { id, endpoints = [] } of await peer.services.client(asking).stats("test")) {
      const failed = endpoints.find(({ name }) => name === "fail");
      seen.set(id, failed?.num_errors ?? 0);
      if (failed !== undefined && failed.num_errors > 0) {
        expect(failed.last_error).toBe("1001:Refused");
      }
      if (seen.size === 3) break;
    }
    expect(new Set(seen.keys())).toEqual(ids);
    expect([...seen.values()].reduce((sum, errors) => sum + errors, 0)).toBe(5);
  });
});
