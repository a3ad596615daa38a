import dns from "node:dns/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createRpcServer, silentLog } from "callwire";
import { webhookMount, webhooks } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { MemoryWorkStore } from "callwire/work";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PushSender, type Webhooks } from "../../src/a2a/push-sender.ts";
import { gate, type Parsed, says, serveAgent } from "./served-agent.ts";

interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Parsed;
}

/** A webhook that answers with these statuses in turn, then with 200. */
async function receiver(...statuses: number[]) {
  const deliveries: Delivery[] = [];
  const last = gate();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const status = statuses.shift() ?? 200;
    response.writeHead(status, status === 302 ? { location: "http://127.0.0.1:9/" } : {}).end();
    const body = JSON.parse(text);
    if (status === 200) deliveries.push({ headers: request.headers, body });
    const { state } = body.statusUpdate?.status ?? body.status ?? {};
    if (status === 200 && /completed$/i.test(state)) last.open();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    deliveries,
    completed: last.passed,
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/hook`,
  };
}

async function* execute() {
  yield { state: "working" } as const;
  yield "done";
}

describe("a webhook", () => {
  test("gets each event of the task in order, with its token and credentials, although it stumbles", async () => {
    const hook = await receiver(503, 302);
    const { ask } = await serveAgent({ execute, push: webhooks({ allow: [hook.host] }) });
    const taskPushNotificationConfig = {
      url: hook.url,
      token: "secret",
      authentication: { scheme: "Bearer", credentials: "abc" },
    };
    await ask("SendMessage", { ...says("go"), configuration: { taskPushNotificationConfig } });
    await hook.completed;
    expect(hook.deliveries.map(({ body }) => Object.keys(body)[0])).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(hook.deliveries[0]?.headers).toMatchObject({
      "content-type": "application/a2a+json",
      "x-a2a-notification-token": "secret",
      authorization: "Bearer abc",
    });
  });

  test("counts as memory of its task", async () => {
    const { ask } = await serveAgent({
      push: { refusal: async () => undefined, post: async () => 200 },
      store: new MemoryWorkStore({ maxBytes: 20_000 }),
      async *execute() {
        yield { state: "input-required" } as const;
      },
    });
    const { id: taskId } = (await ask("SendMessage", says("go"))).result.task;
    const add = async (length: number) => {
      const config = { taskId, url: "https://a", id: "1", token: "x".repeat(length) };
      return (await ask("CreateTaskPushNotificationConfig", config)).error?.code;
    };
    expect(await add(8_000)).toBeUndefined();
    // It replaces the one before.
    expect(await add(8_001)).toBeUndefined();
    expect(await add(10_000)).toBe(-32000);
  });

  test("can be set, read, listed and deleted while the task runs", async () => {
    const hook = await receiver();
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      push: webhooks({ allow: [hook.host] }),
      async *execute() {
        await passed;
        yield "done";
      },
    });
    const params = { ...says("go"), configuration: { returnImmediately: true } };
    const { id: taskId } = (await ask("SendMessage", params)).result.task;
    const kept = (
      await ask("CreateTaskPushNotificationConfig", { taskId, id: "kept", url: hook.url })
    ).result;
    expect(kept).toEqual({ taskId, id: "kept", url: hook.url });
    const other = (await ask("CreateTaskPushNotificationConfig", { taskId, url: hook.url })).result;
    const { configs } = (await ask("ListTaskPushNotificationConfigs", { taskId })).result;
    expect(configs).toEqual([kept, other]);
    for (let i = 0; i < 2; i++) {
      const reference = { taskId, id: other.id };
      expect((await ask("DeleteTaskPushNotificationConfig", reference)).result).toEqual({});
      expect((await ask("GetTaskPushNotificationConfig", reference)).error?.code).toBe(-32001);
    }
    expect((await ask("GetTaskPushNotificationConfig", { taskId, id: "kept" })).result).toEqual(
      kept,
    );
    open();
    await hook.completed;
    expect(hook.deliveries.map(({ body }) => Object.keys(body)[0])).toEqual([
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
  });
});

test("a webhook of a client of 0.3 gets the task in the form of 0.3, and one of 1.0 its events", async () => {
  const [old, other] = [await receiver(), await receiver()];
  const { passed, open } = gate();
  const { ask } = await serveAgent({
    push: webhooks({ allow: [old.host, other.host] }),
    async *execute() {
      await passed;
      yield "done";
    },
  });
  const legacy = { "a2a-version": "0.3" };
  const message = {
    kind: "message",
    messageId: "1",
    role: "user",
    parts: [{ kind: "text", text: "go" }],
  };
  const { id } = (
    await ask("message/send", { message, configuration: { blocking: false } }, legacy)
  ).result;
  const pushNotificationConfig = { url: old.url, token: "secret" };
  await ask("tasks/pushNotificationConfig/set", { taskId: id, pushNotificationConfig }, legacy);
  await ask("CreateTaskPushNotificationConfig", { taskId: id, url: other.url });
  open();
  await Promise.all([old.completed, other.completed]);
  expect(old.deliveries[0]?.headers).toMatchObject({
    "content-type": "application/json",
    "x-a2a-notification-token": "secret",
  });
  expect(old.deliveries.map(({ body }) => [body.kind, body.status.state])).toEqual([
    ["task", "working"],
    ["task", "completed"],
  ]);
  expect(old.deliveries.at(-1)?.body.artifacts[0].parts).toEqual([{ kind: "text", text: "done" }]);
  expect(other.deliveries.at(-1)?.body).toMatchObject({ statusUpdate: { taskId: id } });
});

test("a webhook of a client of 0.3 gets a direct answer as a message of 0.3", async () => {
  const { passed, open } = gate();
  let body: Parsed;
  const { ask } = await serveAgent({
    execute: () => "Hello",
    push: {
      refusal: async () => undefined,
      async post(_url, _headers, text) {
        body = JSON.parse(text);
        open();
        return 200;
      },
    },
  });
  const parts = [{ kind: "text", text: "go" }];
  const message = { kind: "message", messageId: "1", role: "user", parts };
  const configuration = { pushNotificationConfig: { url: "https://example.com/hook" } };
  await ask("message/send", { message, configuration }, { "a2a-version": "0.3" });
  await passed;
  expect(body).toMatchObject({ kind: "message", role: "agent", parts: [{ kind: "text" }] });
});

describe("a webhook is refused", () => {
  test.each([
    "http://example.com/hook",
    "https://127.0.0.1/hook",
    "https://[::1]/hook",
    "https://[::ffff:10.0.0.1]/hook",
    "https://169.254.169.254/latest/meta-data",
    "https://10.1.2.3/",
    "https://localhost/hook",
    "https://0x7f000001/",
    "https://user:password@example.com/",
    "ftp://example.com/",
    "not a url",
  ])("at %s", async (url) => {
    const { ask } = await serveAgent({ execute, push: webhooks() });
    const configuration = { taskPushNotificationConfig: { url } };
    const { error } = await ask("SendMessage", { ...says("go"), configuration });
    expect(error?.code).toBe(-32602);
    expect(error?.data[0].fieldViolations[0].field).toBe("url");
  });
});

describe("receivers that do not answer", () => {
  const never = new Promise<number>(() => {});
  const event = (text: string): string =>
    JSON.stringify({ message: { messageId: "1", role: "ROLE_AGENT", parts: [{ text }] } });

  function stuckSender() {
    let dropped = 0;
    let posts = 0;
    const stuck: Webhooks = {
      refusal: async () => undefined,
      post() {
        posts++;
        return never;
      },
    };
    const log = { ...silentLog, warn: () => void dropped++ };
    const sender = new PushSender(stuck, new FakeClock(), log);
    onTestFinished(() => sender.close());
    const send = (i: number, text: string, token = ""): void =>
      sender.send(
        { config: { taskId: `t${i}`, id: "1", url: "https://a", token }, isLegacy: false },
        event(text),
      );
    return { send, dropped: () => dropped, posts: () => posts };
  }

  test("hold 16 MiB of notifications together, and the rest is dropped", () => {
    const { send, dropped } = stuckSender();
    const mebibyte = "a".repeat(1024 * 1024);
    for (let i = 0; i < 40; i++) send(i, mebibyte);
    expect(dropped()).toBe(25);
  });

  test("hold no more if the secrets of their webhooks are long", () => {
    const { send, dropped } = stuckSender();
    const mebibyte = "a".repeat(1024 * 1024);
    for (let i = 0; i < 40; i++) send(i, "hi", mebibyte);
    expect(dropped()).toBe(25);
  });

  test("hold a hundred connections together", () => {
    const { send, dropped, posts } = stuckSender();
    for (let i = 0; i < 150; i++) send(i, "hi");
    expect(posts()).toBe(100);
    expect(dropped()).toBe(0);
  });
});

describe("our own webhook", () => {
  test("gets the events of an agent, each again after a failure, and refuses events of others", async () => {
    const events: Parsed[] = [];
    const done = gate();
    let failures = 1;
    const hook = webhookMount({
      token: "secret",
      receive(event) {
        if (failures-- > 0) throw new Error("not now");
        events.push(event);
        if (JSON.stringify(event).includes("COMPLETED")) done.open();
      },
    });
    const http = await serveHttp(createRpcServer({}), { port: 0, mounts: { "/hook": hook } });
    onTestFinished(() => http.close());
    const host = `127.0.0.1:${http.port}`;
    const url = `http://${host}/hook`;
    const { ask } = await serveAgent({ execute, push: webhooks({ allow: [host] }) });
    const taskPushNotificationConfig = { url, token: "secret" };
    await ask("SendMessage", { ...says("go"), configuration: { taskPushNotificationConfig } });
    await done.passed;
    expect(events.map((event) => Object.keys(event)[0])).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    const post = async (headers: Record<string, string>, body: string) =>
      (await fetch(url, { method: "POST", headers, body })).status;
    const known = { "x-a2a-notification-token": "secret" };
    expect(await post({}, "{}")).toBe(401);
    expect(await post({ "x-a2a-notification-token": "secreT" }, "{}")).toBe(401);
    expect(await post(known, "{}")).toBe(400);
    expect(await post(known, "nonsense")).toBe(400);
    expect(await post(known, JSON.stringify({ task: "x".repeat(2 ** 20) }))).toBe(413);
    expect((await fetch(url)).status).toBe(405);
    expect(events).toHaveLength(4);
  });
});

test("a name that leads into a private network later is not connected to", async () => {
  const hook = await receiver();
  const lookup = vi.spyOn(dns, "lookup");
  onTestFinished(() => lookup.mockRestore());
  const leadsTo = (...addresses: string[]) =>
    lookup.mockResolvedValueOnce(addresses.map((address) => ({ address, family: 4 })) as never);
  const { refusal, post } = webhooks();
  const url = `https://rebinding.example:${new URL(hook.url).port}/hook`;
  leadsTo("93.184.216.34");
  expect(await refusal(url)).toBeUndefined();
  const { signal } = new AbortController();
  leadsTo("127.0.0.1");
  await expect(post(url, {}, "{}", signal)).rejects.toThrow(/private network/);
  leadsTo("93.184.216.34", "127.0.0.1");
  await expect(post(url, {}, "{}", signal)).rejects.toThrow(/private network/);
});

test("names that take long to look up hold two threads at most, and end with their attempt", async () => {
  const looks: ((found: { address: string; family: number }[]) => void)[] = [];
  const lookup = vi
    .spyOn(dns, "lookup")
    .mockImplementation(
      (() => new Promise((resolve) => looks.push(resolve))) as unknown as typeof dns.lookup,
    );
  onTestFinished(() => lookup.mockRestore());
  const { refusal, post } = webhooks();
  const held = [1, 2, 3].map((each) => refusal(`https://slow${each}.example/`));
  expect(looks).toHaveLength(2);
  const attempt = new AbortController();
  const delivery = post("https://slow4.example/", {}, "{}", attempt.signal);
  attempt.abort();
  await expect(delivery).rejects.toThrow(/abort/i);
  looks[0]?.([{ address: "93.184.216.34", family: 4 }]);
  expect(await held[0]).toBeUndefined();
  await vi.waitFor(() => expect(looks).toHaveLength(3));
  // Few host names are looked up at a time, whoever sends them.
  const many = Array.from({ length: 101 }, (_, i) => refusal(`https://many${i}.example/`));
  expect(await many[100]).toBe("must have a public address");
  lookup.mockRejectedValue(new Error("no such name"));
  for (const look of looks) look([{ address: "10.0.0.1", family: 4 }]);
  expect(await Promise.all(many)).toEqual(Array(101).fill("must have a public address"));
});
