import { once } from "node:events";
import { batching, createClient, createServer, method, stream, WireError } from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { HandLink, parrot } from "./hand-link.ts";

type Methods = { echo: (value: number) => unknown };

/** How many calls each payload had; 0 means a call that was sent alone. */
function sizes(link: HandLink): number[] {
  return link.payloads.map((payload) => (Array.isArray(payload) ? payload.length : 0));
}

describe("automatic batching", () => {
  test("sends the calls of one turn as one payload, and a call alone as itself", async () => {
    const link = new HandLink(parrot);
    const { api } = createClient<Methods>(link, { batch: true });
    const results = await Promise.all([api.echo(1), api.echo(2), api.echo(3)]);
    expect(results).toEqual([1, 2, 3].map((value) => ["echo", [value]]));
    await api.echo(4);
    expect(sizes(link)).toEqual([3, 0]);
  });

  test("is off by default", async () => {
    const link = new HandLink(parrot);
    const { api } = createClient<Methods>(link);
    await Promise.all([api.echo(1), api.echo(2)]);
    expect(sizes(link)).toEqual([0, 0]);
  });

  test("gathers for as long as its window is open", async () => {
    const clock = new FakeClock();
    const link = new HandLink(parrot);
    const { api } = createClient<Methods>(link, { batch: { windowMs: 20 }, clock });
    const first = api.echo(1);
    await turn();
    clock.advance(19);
    const second = api.echo(2);
    await turn();
    expect(link.payloads).toEqual([]);
    clock.advance(1);
    await Promise.all([first, second]);
    expect(sizes(link)).toEqual([2]);
    const third = api.echo(3);
    clock.advance(20);
    await third;
    expect(sizes(link)).toEqual([2, 0]);
  });

  test("sends a full batch at once, and the next call opens a window of its own", async () => {
    const clock = new FakeClock();
    const link = new HandLink(parrot);
    const { api } = createClient<Methods>(link, { batch: { windowMs: 20, max: 2, clock } });
    const full = [api.echo(1), api.echo(2)];
    await Promise.all(full);
    expect(sizes(link)).toEqual([2]);
    clock.advance(15);
    const next = api.echo(3);
    clock.advance(15);
    await turn();
    expect(sizes(link)).toEqual([2]);
    clock.advance(5);
    await next;
    expect(sizes(link)).toEqual([2, 0]);
  });

  test("never sends more than the limit in one payload", async () => {
    const link = new HandLink(parrot);
    const { api } = createClient<Methods>(link, { batch: true });
    await Promise.all(Array.from({ length: 250 }, (_, i) => api.echo(i)));
    expect(sizes(link)).toEqual([100, 100, 50]);
  });

  test("takes notifications along, and all notifications have no answer", async () => {
    const heard: unknown[] = [];
    const [near] = memoryPair(
      undefined,
      createServer({ hear: (value: unknown) => heard.push(value) }),
    );
    const client = createClient(near, { batch: true });
    await Promise.all([client.notify("hear", [1]), client.notify("hear", [2])]);
    const [, third] = await Promise.all([client.notify("hear", [3]), client.call("hear", [4])]);
    expect(heard).toEqual([1, 2, 3, 4]);
    expect(third).toBe(4);
  });

  test("does not send a call that was cancelled while it waited", async () => {
    const clock = new FakeClock();
    const link = new HandLink(parrot);
    const client = createClient<Methods>(link, { batch: { windowMs: 20, clock } });
    const controller = new AbortController();
    const given = client.call("echo", [1], { signal: controller.signal });
    const kept = client.api.echo(2);
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    clock.advance(20);
    expect(await kept).toEqual(["echo", [2]]);
    expect(link.methods).toHaveLength(1);
  });

  test("sends nothing when all were cancelled", async () => {
    const link = new HandLink(parrot);
    const client = createClient<Methods>(link, { batch: true });
    const controller = new AbortController();
    const calls = [1, 2].map((n) => client.call("echo", [n], { signal: controller.signal }));
    controller.abort();
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await turn();
    expect(link.payloads).toEqual([]);
  });

  test("lets a call be cancelled after it left", async () => {
    const link = new HandLink();
    const client = createClient<Methods>(link, { batch: true });
    const controller = new AbortController();
    const given = client.call("echo", [1], { signal: controller.signal });
    const kept = client.api.echo(2);
    await turn();
    let cancelled: unknown;
    const [first, second] = link.calls;
    if (first !== undefined) first.outgoing.cancel = (error) => (cancelled = error);
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    expect(cancelled).toBeInstanceOf(WireError);
    second?.resolve({ result: "kept", error: undefined });
    expect(await kept).toBe("kept");
  });

  test("over a link that throws rejects every call", async () => {
    const link = new HandLink();
    link.send = () => {
      throw new WireError("CONNECTION_FAILED", "nobody there");
    };
    link.sendBatch = link.send as never;
    const { api } = createClient<Methods>(link, { batch: true });
    await expect(api.echo(1)).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const outcomes = await Promise.allSettled([api.echo(1), api.echo(2)]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: "CONNECTION_FAILED" } });
    }
  });

  test("sends the collected calls before it closes", async () => {
    const clock = new FakeClock();
    const link = new HandLink(parrot);
    const client = createClient<Methods>(link, { batch: { windowMs: 20, clock } });
    const calls = [client.api.echo(1), client.api.echo(2)];
    await client.close();
    expect(await Promise.all(calls)).toHaveLength(2);
    expect(link.closed).toBe(1);
    expect(clock.waiting).toBe(0);
  });

  test("leaves explicit batches as they are", async () => {
    const link = new HandLink(parrot);
    const client = createClient<Methods>(batching(link));
    await Promise.all([client.batch((b) => [b.echo(1), b.echo(2)]), client.api.echo(3)]);
    expect(sizes(link)).toEqual([2, 0]);
  });

  test("calls with other headers, such as those of another user, are not part of the batch", async () => {
    const server = createServer({
      whoami: method({}, (_, { transport }) => transport.headers["x-user"] ?? "nobody"),
    });
    await using http = await serveHttp(server, { port: 0 });
    const sent: unknown[] = [];
    const link = httpLink(http.url, {
      tap: (text, way) => way === "sent" && sent.push(JSON.parse(text)),
    });
    await using client = createClient(link, { batch: true });
    const [alice, bob] = ["alice", "bob"].map((user) =>
      client.with({ headers: { "x-user": user } }),
    ) as [typeof client, typeof client];
    const callers = [alice, alice, bob, client, client];
    expect(await Promise.all(callers.map((caller) => caller.call("whoami")))).toEqual([
      "alice",
      "alice",
      "bob",
      "nobody",
      "nobody",
    ]);
    expect(sent).toMatchObject([[{}, {}], { method: "whoami" }, [{}, {}]]);
  });

  test.each(["stream", "api"] as const)(
    "calls do not wait for the end of a stream of the same turn, read with %s",
    async (way) => {
      const heard: string[] = [];
      const methods = {
        hear: (word: string) => heard.push(word),
        news: stream({}, async function* (_, { signal }) {
          heard.push("stream");
          yield "first";
          await once(signal, "abort");
        }),
      };
      const server = createServer(methods);
      await using http = await serveHttp(server, { port: 0, drainMs: 0 });
      await using tcp = await serveSocket(server, { port: 0, drainMs: 0 });
      for (const link of [httpLink(http.url), tcpLink({ port: tcp.port as number })]) {
        await using client = createClient<typeof methods>(link, { batch: true });
        heard.length = 0;
        const before = client.call("hear", ["before"]);
        const news = way === "api" ? client.api.news() : client.stream("news");
        const items = news[Symbol.asyncIterator]();
        const after = Promise.all([client.api.hear("after"), client.api.hear("last")]);
        expect(await items.next()).toEqual({ done: false, value: "first" });
        await Promise.all([before, after]);
        expect([...heard].sort()).toEqual(["after", "before", "last", "stream"]);
        await items.return?.();
      }
    },
  );
});
