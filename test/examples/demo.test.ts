/** The demo's methods, called in process; test/seeds calls them over the wires. */
import { createClient, createServer, silentLog } from "callwire";
import { memoryPair } from "callwire/connection";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { methods } from "../../examples/demo/methods.ts";

const demo = createServer(methods, { log: silentLog });

/** A client of its own connection, and the messages pushed to it. */
function join() {
  const heard: { method: string; params: unknown }[] = [];
  const hear = (method: string) => (params: unknown) => {
    heard.push({ method, params });
  };
  const own = createServer({ onTick: hear("onTick"), "chat/message": hear("chat/message") });
  const [connection] = memoryPair(own, demo);
  return { heard, connection, api: createClient<typeof methods>(connection).api };
}

/** Lets everything that was sent arrive. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.restoreAllMocks();
});

describe("every method", () => {
  const entries = [...demo.methods];
  const called = entries.filter(
    ([name]) => !/^(ticks|chat)\/|^(trigger_error|get_server_time)$/.test(name),
  );

  test.each(entries)("%s has a summary and an example", (_, { definition }) => {
    expect(definition.summary).toMatch(/^[A-Z].{10,}[^.]$/);
    expect(definition.examples?.length).toBeGreaterThan(0);
  });

  test.each(
    called.flatMap(([name, { definition, kind }]) =>
      (definition.examples ?? []).map((example) => ({ ...example, name, kind })),
    ),
  )("$name($params) is $result, as its example says", async ({ name, kind, params, result }) => {
    // One of them writes to the terminal.
    vi.spyOn(console, "error").mockReturnValue();
    const { connection } = join();
    const client = createClient(connection, { timeoutMs: 10_000 });
    if (kind === "stream") {
      const items: unknown[] = [];
      for await (const item of client.stream(name, params as [])) items.push(item);
      expect(items).toEqual(result);
    } else if (result === undefined) {
      await expect(client.call(name, params as [])).rejects.toThrow();
    } else {
      expect(await client.call(name, params as [])).toEqual(result);
    }
  });
});

describe("slow/work", () => {
  test("reports progress ten times", async () => {
    const { connection } = join();
    const reports: unknown[] = [];
    const client = createClient<typeof methods>(connection);
    const result = await client.call(
      "slow/work",
      { ms: 10 },
      { onProgress: (value) => reports.push(value) },
    );
    expect(result).toBe("worked for 10 ms");
    expect(reports).toHaveLength(10);
    expect(reports.at(-1)).toEqual({ percent: 100 });
  });

  test("stops when it is cancelled", async () => {
    const { connection } = join();
    const cancel = new AbortController();
    const call = createClient<typeof methods>(connection).call(
      "slow/work",
      { ms: 60_000 },
      { signal: cancel.signal },
    );
    await settled();
    expect(demo.running.size).toBe(1);
    cancel.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await settled();
    expect(demo.running.size).toBe(0);
  });
});

describe("ticks", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("arrive every second until they are stopped", async () => {
    const { api, heard } = join();
    expect(await api.ticks.start()).toBe("ticking every 1000 ms");
    vi.advanceTimersByTime(3000);
    await settled();
    expect(heard.map(({ params }) => params)).toMatchObject([
      { count: 1 },
      { count: 2 },
      { count: 3 },
    ]);
    expect(await api.ticks.stop()).toBe("stopped");
    vi.advanceTimersByTime(3000);
    await settled();
    expect(heard).toHaveLength(3);
    expect(await api.ticks.stop()).toBe("was not ticking");
  });

  test("started twice, they arrive once", async () => {
    const { api, heard } = join();
    await api.ticks.start();
    await api.ticks.start({ intervalMs: 500 });
    vi.advanceTimersByTime(1000);
    await settled();
    expect(heard).toHaveLength(2);
  });

  test("end with the connection", async () => {
    const { api, connection } = join();
    await api.ticks.start();
    expect(vi.getTimerCount()).toBe(1);
    await connection.close();
    await settled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("are refused on wires that cannot push", () => {
    const reply = demo.receive(`{"jsonrpc":"2.0","method":"ticks/start","id":1}`);
    expect(JSON.parse(String(reply))).toMatchObject({ error: { code: 1001 } });
  });
});

describe("chat", () => {
  test("two clients talk through the server", async () => {
    const ada = join();
    const grace = join();
    expect(await ada.api.chat.join({ name: "Ada" })).toEqual(["Ada"]);
    expect(await grace.api.chat.join({ name: "Grace" })).toEqual(["Ada", "Grace"]);
    await ada.api.chat.say({ text: "Hello, Grace" });
    await grace.api.chat.leave();
    await ada.api.chat.say({ text: "Is anybody there?" });
    await settled();
    const texts = (heard: typeof ada.heard) =>
      heard.map(({ params }) => {
        const { from, text } = params as { from: string; text: string };
        return `${from}: ${text}`;
      });
    expect(texts(ada.heard)).toEqual([
      "Ada: joined",
      "Grace: joined",
      "Ada: Hello, Grace",
      "Grace: left",
      "Ada: Is anybody there?",
    ]);
    expect(texts(grace.heard)).toEqual(["Grace: joined", "Ada: Hello, Grace", "Grace: left"]);
    await ada.api.chat.leave();
  });

  test("a name is taken while its owner is connected", async () => {
    const first = join();
    const second = join();
    await first.api.chat.join({ name: "Alan" });
    await expect(second.api.chat.join({ name: "Alan" })).rejects.toMatchObject({
      code: -32012,
      message: "Name taken",
      data: { name: "Alan" },
    });
    await first.connection.close();
    await settled();
    expect(await second.api.chat.join({ name: "Alan" })).toEqual(["Alan"]);
    await second.api.chat.leave();
  });

  test("a client that has not joined cannot send", async () => {
    const { api } = join();
    await expect(api.chat.say({ text: "hello" })).rejects.toMatchObject({ code: -32011 });
    await expect(api.chat.leave()).rejects.toMatchObject({ code: -32011 });
  });
});
