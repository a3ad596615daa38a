import { a2aAgent, a2aClient, a2aHandler, CardCache, type StreamResponse } from "callwire/a2a";
import { webhooks } from "callwire/a2a/node";
import { authenticate, bearer } from "callwire/security";
import { FakeClock } from "callwire/testing";
import { MemoryWorkStore } from "callwire/work";
import { describe, expect, test } from "vitest";
import { FollowedTask } from "../../src/a2a/client/followed-task.ts";
import { all, gate, says, serveAgent } from "./served-agent.ts";

/** What a reader of the events knows of the answer, and how many events reported it. */
function textsOf(events: readonly StreamResponse[]): string[] {
  return events.flatMap((event) =>
    "artifactUpdate" in event
      ? event.artifactUpdate.artifact.parts.map(({ text = "" }) => text)
      : [],
  );
}

describe("a client", () => {
  test("resumes a stream whose connection is lost, without losing or repeating an event", async () => {
    const [lost, finish] = [gate(), gate()];
    const { base, http } = await serveAgent({
      async *execute() {
        yield "one ";
        yield "two ";
        await lost.passed;
        yield "three ";
        yield "four ";
        await finish.passed;
        yield "five";
      },
    });
    const agent = await a2aClient(base);
    const events: StreamResponse[] = [];
    for await (const event of agent.stream("count")) {
      events.push(event);
      const texts = textsOf(events);
      if (texts.length === 2) {
        http.server.closeAllConnections();
        lost.open();
      }
      if (texts.length === 4) {
        http.server.closeAllConnections();
        finish.open();
      }
    }
    expect(textsOf(events)).toEqual(["one ", "two ", "three ", "four ", "five"]);
    expect(events.filter((event) => "task" in event)).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  test("gets what the agent said and replaced while the connection was lost", async () => {
    const [lost, resumed] = [gate(), gate()];
    const { base, http } = await serveAgent({
      async *execute() {
        yield { state: "working", message: "first" };
        yield { artifact: { artifactId: "draft", parts: "version 1" } };
        yield { artifact: { artifactId: "log", parts: "one" } };
        await lost.passed;
        yield { state: "working", message: "second" };
        yield { artifact: { artifactId: "draft", parts: "version 2" } };
        yield { artifact: { artifactId: "log", parts: "two" }, append: true };
        yield { state: "working", message: "third" };
        await resumed.passed;
        yield { state: "completed", message: "fourth" };
      },
    });
    const agent = await a2aClient(base);
    const seen: string[] = [];
    for await (const event of agent.stream("go")) {
      if ("statusUpdate" in event) {
        const { message } = event.statusUpdate.status;
        if (message !== undefined) seen.push(`says ${message.parts[0]?.text}`);
      } else if ("artifactUpdate" in event) {
        const { artifact, append } = event.artifactUpdate;
        seen.push(
          `${append ? "adds to" : "sets"} ${artifact.artifactId}: ${artifact.parts[0]?.text}`,
        );
      }
      if (seen.at(-1) === "sets log: one") {
        http.server.closeAllConnections();
        lost.open();
      }
      if (seen.at(-1) === "says third") resumed.open();
    }
    expect(seen).toEqual([
      "says first",
      "sets draft: version 1",
      "sets log: one",
      "says second",
      "sets draft: version 2",
      "adds to log: two",
      "says third",
      "says fourth",
    ]);
  });

  test("keeps no more of a stream than its task, and gets that again if it is resumed", () => {
    const followed = new FollowedTask(1_000);
    const status = { state: "TASK_STATE_WORKING" } as const;
    const said = (text: string) => ({
      artifactUpdate: {
        taskId: "t",
        contextId: "c",
        append: true,
        artifact: { artifactId: "a", parts: [{ text }] },
      },
    });
    followed.apply({ task: { id: "t", contextId: "c", status } }, 100);
    followed.apply(said("x"), 500);
    expect(followed.task?.artifacts).toHaveLength(1);
    followed.apply(said("y"), 500);
    expect(followed.task).toEqual({ id: "t", contextId: "c", status });
    const whole = { task: { id: "t", contextId: "c", status, artifacts: [] } };
    expect(followed.newIn(whole)).toEqual([whole]);
    followed.apply(whole, 100);
    expect(followed.newIn(whole)).toEqual([]);
    for (let i = 0; i <= 5_000; i++) followed.apply(said(""), 0);
    expect(followed.task?.artifacts).toBeUndefined();
  });

  test("does not follow redirects, which would send its credentials elsewhere", async () => {
    const asked: string[] = [];
    const send = async (url: string, { redirect }: RequestInit): Promise<Response> => {
      asked.push(`${redirect} ${url}`);
      return url.endsWith("card.json")
        ? Response.json({ url: "/a2a" })
        : new Response(null, { status: 307, headers: { location: "https://evil.example/" } });
    };
    const agent = await a2aClient("https://agents.example", { fetch: send, headers: { key: "k" } });
    await expect(all(agent.stream("hi"))).rejects.toMatchObject({ code: "BAD_REPLY" });
    expect(asked).toEqual([
      "manual https://agents.example/.well-known/agent-card.json",
      "manual https://agents.example/a2a",
    ]);
  });

  test("resumes a stream that an agent ends because it is busy or the client reads too slowly", async () => {
    const status = (state: string) => ({ state: `TASK_STATE_${state}`, timestamp: state });
    const task = (state: string) => ({ id: "1", contextId: "2", status: status(state) });
    const done = { statusUpdate: { taskId: "1", contextId: "2", status: status("COMPLETED") } };
    const busy = { code: -32000, message: "Server busy", data: [{ reason: "SERVER_BUSY" }] };
    const replies = [
      [{ result: { task: task("SUBMITTED") } }, { error: busy }],
      [{ error: busy }],
      [{ result: { task: task("WORKING") } }, { result: done }],
    ];
    const at = { url: "https://a.test/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" };
    const methods: string[] = [];
    const fetch = async (_: string, { body }: RequestInit) => {
      if (body === undefined) return Response.json({ name: "x", supportedInterfaces: [at] });
      methods.push(JSON.parse(String(body)).method);
      const events = (replies.shift() ?? []).map(
        (each) => `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, ...each })}\n\n`,
      );
      return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
    };
    const agent = await a2aClient("https://a.test", { fetch });
    const events = await all(agent.stream("go"));
    expect(events).toEqual([
      { task: task("SUBMITTED") },
      { statusUpdate: { taskId: "1", contextId: "2", status: status("WORKING") } },
      done,
    ]);
    expect(methods).toEqual(["SendStreamingMessage", "SubscribeToTask", "SubscribeToTask"]);
  });

  test("fails with an error of its own if an agent sends data that is too deep, and ends its streams", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const artifacts = `[{"artifactId":"a","parts":[{"data":${deep}}]}]`;
    const status = '{"state":"TASK_STATE_WORKING"}';
    const task = `{"id":"1","contextId":"2","status":${status},"artifacts":${artifacts}}`;
    const at = { url: "https://a.test/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" };
    const fetch = async (_: string, { body }: RequestInit) =>
      body === undefined
        ? Response.json({ name: "x", supportedInterfaces: [at] })
        : new Response(`data: {"jsonrpc":"2.0","id":1,"result":{"task":${task}}}\n\n`, {
            headers: { "content-type": "text/event-stream" },
          });
    const agent = await a2aClient("https://a.test", { fetch, maxResumes: 1 });
    const ended = { name: "WireError", code: "CONNECTION_LOST" };
    await expect(all(agent.stream("go"))).rejects.toMatchObject(ended);
  });

  test("does not repeat a message that may have run, if its connection is lost before there is a task", async () => {
    let runs = 0;
    const { base, http } = await serveAgent({
      async *execute() {
        runs++;
        http.server.closeAllConnections();
        await new Promise(() => {});
        yield "never";
      },
    });
    const agent = await a2aClient(base);
    await expect(all(agent.stream("go"))).rejects.toThrow();
    expect(runs).toBe(1);
  });

  test("sends credentials as the card says", async () => {
    const { base } = await serveAgent({
      card: {
        name: "Guarded",
        description: "Knows its callers",
        securitySchemes: { token: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
        securityRequirements: [{ schemes: { token: { list: [] } } }],
      },
      use: [authenticate(bearer((token) => (token === "secret" ? { id: "ann" } : undefined)))],
      execute: (_, { principal }) => `hello ${principal?.id}`,
    });
    const agent = await a2aClient(base, { credentials: { token: "secret" } });
    expect(await agent.send("hi")).toMatchObject({ message: { parts: [{ text: "hello ann" }] } });
    const stranger = await a2aClient(base);
    // Not -32001, which is "TaskNotFound" in A2A.
    const refused = { code: -32000, data: [{ reason: "UNAUTHENTICATED" }] };
    await expect(stranger.send("hi")).rejects.toMatchObject(refused);
    await expect(all(stranger.stream("hi"))).rejects.toMatchObject(refused);
    await expect(a2aClient(base, { credentials: { key: "secret" } })).rejects.toThrow(
      /no security scheme "key"/,
    );
  });

  test("does not send its credentials to another origin that a card names", async () => {
    const card = {
      name: "Lure",
      securitySchemes: { token: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      supportedInterfaces: [
        { protocolBinding: "JSONRPC", protocolVersion: "1.0", url: "http://agents.test/a2a" },
      ],
    };
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return Response.json(card);
    };
    const address = "https://agents.test";
    for (const secrets of [{ credentials: { token: "secret" } }, { headers: { "x-key": "1" } }]) {
      await expect(a2aClient(address, { ...secrets, fetch })).rejects.toThrow(
        /add it to "origins"/,
      );
    }
    expect(asked).toEqual(Array(2).fill("https://agents.test/.well-known/agent-card.json"));
    const origins = ["http://agents.test"];
    await a2aClient(address, { credentials: { token: "secret" }, origins, fetch });
    await a2aClient(address, { fetch });
  });

  test("takes the first interface that it knows, with its tenant, and says which version it speaks", async () => {
    const at = (protocolBinding: string, protocolVersion: string, tenant: string) => ({
      url: `https://agents.test/${tenant}`,
      protocolBinding,
      protocolVersion,
      tenant,
    });
    const interfaces = [
      at("GRPC", "1.0", "grpc"),
      at("JSONRPC", "9.0", "later"),
      at("JSONRPC", "1.0", "mine"),
    ];
    const calls: { url: string; version: string | null; body: unknown }[] = [];
    const fetch = async (url: string, { headers, body }: RequestInit) => {
      if (body === undefined) return Response.json({ name: "x", supportedInterfaces: interfaces });
      const call = JSON.parse(String(body));
      calls.push({ url, version: new Headers(headers).get("a2a-version"), body: call.params });
      const task = { id: "1", contextId: "2", status: { state: "TASK_STATE_COMPLETED" } };
      return Response.json({ jsonrpc: "2.0", id: call.id, result: task });
    };
    const agent = await a2aClient("https://agents.test", { fetch });
    await agent.getTask("1");
    expect(calls).toEqual([
      { url: "https://agents.test/mine", version: "1.0", body: { id: "1", tenant: "mine" } },
    ]);
  });

  test("leaves a stream by its signal, and the task continues", async () => {
    const { passed, open } = gate();
    const { base } = await serveAgent({
      async *execute() {
        yield "begun";
        await passed;
        yield " done";
      },
    });
    const agent = await a2aClient(base);
    const controller = new AbortController();
    let id = "";
    const reading = (async () => {
      for await (const event of agent.stream("go", { signal: controller.signal })) {
        if ("task" in event) id = event.task.id;
        if ("artifactUpdate" in event) controller.abort();
      }
    })();
    await expect(reading).rejects.toThrow(/abort/i);
    const rest = agent.subscribe(id);
    expect((await rest.next()).value).toMatchObject({ task: { id } });
    open();
    expect(textsOf(await all(rest))).toEqual([" done"]);
    expect((await agent.listTasks()).totalSize).toBe(1);
    await expect(agent.cancelTask(id)).rejects.toMatchObject({ code: -32002 });
  });

  test("reports a missing card, and one that it does not understand", async () => {
    const { base } = await serveAgent({ execute: () => "hi" });
    await expect(a2aClient(`${base}/rpc/card.json`)).rejects.toThrow(
      /no agent card at .* \(HTTP status 404\)/,
    );
    const strange = async () =>
      Response.json({ name: "x", supportedInterfaces: [{ protocolBinding: "GRPC" }] });
    await expect(a2aClient(base, { fetch: strange })).rejects.toThrow(/no JSON-RPC interface/);
  });
});

test("a card is kept as long as its agent allows, and for callers with the same headers", async () => {
  const { base } = await serveAgent({ execute: () => "hi" });
  const clock = new FakeClock();
  const cards = new CardCache({ clock, maxCards: 2 });
  const statuses: number[] = [];
  const watched = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    statuses.push(response.status);
    return response;
  };
  const open = (headers: Record<string, string> = {}) =>
    a2aClient(base, { cards, headers, fetch: watched });
  expect((await open()).card).toEqual((await open()).card);
  expect(statuses).toEqual([200]);
  await open({ "x-user": "ann" });
  expect(statuses).toEqual([200, 200]);
  await clock.advance(300_000);
  await open();
  await open();
  expect(statuses).toEqual([200, 200, 304]);
  // The third card replaces the oldest.
  await open({ "x-user": "bob" });
  await open();
  await open({ "x-user": "ann" });
  expect(statuses).toEqual([200, 200, 304, 200, 200]);
});

test("a card that must not be stored is read each time", async () => {
  const { agent } = await serveAgent({ execute: () => "hi" });
  const card = await agent.card("http://agents.test/a2a");
  for (const rule of ["no-store, max-age=60", "no-cache, max-age=60", ""]) {
    let reads = 0;
    const fetch = async () => {
      reads++;
      return Response.json(card, { headers: { "cache-control": rule } });
    };
    const cards = new CardCache();
    await a2aClient("http://agents.test", { cards, fetch });
    await a2aClient("http://agents.test", { cards, fetch });
    expect(reads).toBe(2);
  }
});

test("webhooks of a task can be set, listed and deleted at agents of both versions", async () => {
  const { base } = await serveAgent({
    async *execute() {
      yield { state: "input-required" };
    },
    push: webhooks({ allow: ["127.0.0.1"] }),
  });
  const oldCard = async (url: string, init: RequestInit) =>
    url.endsWith(".json")
      ? Response.json({ name: "Old", url: `${base}/a2a`, protocolVersion: "0.3.0" })
      : fetch(url, init);
  for (const options of [{}, { fetch: oldCard }]) {
    const agent = await a2aClient(base, options);
    const answer = await agent.send("go");
    const taskId = "task" in answer ? answer.task.id : "";
    const authentication = { scheme: "Bearer", credentials: "abc" };
    const config = { taskId, url: "http://127.0.0.1:9/hook", token: "secret", authentication };
    const made = await agent.createPushConfig(config);
    expect(made).toMatchObject(config);
    expect(await agent.listPushConfigs(taskId)).toEqual([made]);
    await agent.deletePushConfig(taskId, made.id);
    expect(await agent.listPushConfigs(taskId)).toEqual([]);
  }
});

test("an agent runs on runtimes with fetch, with its card", async () => {
  const agent = a2aAgent({
    card: { name: "Parrot", description: "Repeats" },
    async *execute({ text }) {
      for (const word of text.split(" ")) yield word;
    },
  });
  const handle = a2aHandler(agent, { hosts: ["agents.test"] });
  const fetch = (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    headers.set("host", "agents.test");
    return handle(new Request(url, { ...init, headers }));
  };
  const client = await a2aClient("http://agents.test", { fetch });
  expect(textsOf(await all(client.stream("a b c")))).toEqual(["a", "b", "c"]);
  await agent.close();
});

describe("the store in memory", () => {
  const execute = async function* () {
    yield "done";
  };

  test("drops the oldest finished task to make room, but none that still runs", async () => {
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      store: new MemoryWorkStore({ maxRecords: 2 }),
      async *execute({ text }) {
        if (text === "wait") await passed;
        yield "done";
      },
    });
    const waiting = (
      await ask("SendMessage", { ...says("wait"), configuration: { returnImmediately: true } })
    ).result.task;
    const first = (await ask("SendMessage", says("a"))).result.task;
    await ask("SendMessage", says("b"));
    expect((await ask("GetTask", { id: first.id })).error?.code).toBe(-32001);
    expect((await ask("GetTask", { id: waiting.id })).result.id).toBe(waiting.id);
    open();
  });

  test("refuses a task for which there is no room", async () => {
    const { ask } = await serveAgent({
      store: new MemoryWorkStore({ maxBytes: 400 }),
      execute,
    });
    const { error } = await ask("SendMessage", says("x".repeat(300)));
    expect(error?.data).toMatchObject([{ reason: "SERVER_BUSY" }]);
  });

  test("counts what a message takes in memory, not how long it is", async () => {
    const { ask } = await serveAgent({
      store: new MemoryWorkStore({ maxBytes: 500_000 }),
      execute,
    });
    const parts = [{ data: Array.from({ length: 10_000 }, () => ({})) }];
    const { error } = await ask("SendMessage", says("", { parts }));
    expect(error?.data).toMatchObject([{ reason: "SERVER_BUSY" }]);
  });
});
