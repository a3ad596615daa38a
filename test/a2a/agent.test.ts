import { createServer, silentLog } from "callwire";
import { a2aAgent, a2aHandler } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer, mutualTls } from "callwire/security";
import { apiKeys } from "callwire/security/keys";
import { MemoryWorkStore } from "callwire/work";
import { describe, expect, onTestFinished, test } from "vitest";
import { all, card, gate, type Parsed, says, serveAgent } from "./served-agent.ts";

const reasonOf = (error: Parsed): string => error?.data?.[0]?.reason;

describe("a message to an agent", () => {
  test("becomes a task whose answer is an artifact, and is done when the generator is", async () => {
    const { ask } = await serveAgent({
      async *execute({ text }) {
        yield `${text}, `;
        yield "world";
        return "Greeted";
      },
    });
    const { result } = await ask("SendMessage", says("hello"));
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(result.task.status.message.parts).toEqual([{ text: "Greeted" }]);
    expect(result.task.artifacts).toHaveLength(1);
    expect(result.task.artifacts[0].parts).toEqual([{ text: "hello, " }, { text: "world" }]);
    expect(result.task.history.map((each: Parsed) => each.role)).toEqual([
      "ROLE_USER",
      "ROLE_AGENT",
    ]);
  });

  test("is answered by a message if the agent is a plain function", async () => {
    const { ask } = await serveAgent({ execute: ({ text }) => text.toUpperCase() });
    const { result } = await ask("SendMessage", says("hello", { contextId: "talk" }));
    expect(result).toEqual({
      message: {
        messageId: expect.any(String),
        role: "ROLE_AGENT",
        parts: [{ text: "HELLO" }],
        contextId: "talk",
      },
    });
  });

  test("that the agent cannot answer fails the task, without details that are not for clients", async () => {
    const { ask } = await serveAgent({
      async *execute() {
        yield { state: "working" };
        throw new Error("the password is swordfish");
      },
      log: { error() {}, warn() {}, info() {}, debug() {} } as never,
    });
    const { result } = await ask("SendMessage", says("hello"));
    expect(result.task.status.state).toBe("TASK_STATE_FAILED");
    expect(JSON.stringify(result)).not.toContain("swordfish");
  });

  test("is stored with its first step, and again when it is done, with an event for each step", async () => {
    const memory = new MemoryWorkStore();
    const stored: string[] = [];
    const { events, ask } = await serveAgent({
      store: {
        load: (id) => memory.load(id),
        list: (query) => memory.list(query),
        remove: (id) => memory.remove(id),
        async save(record) {
          await Promise.resolve();
          stored.push(`${record.version} ${record.state}`);
          return memory.save(record);
        },
      },
      async *execute({ text }) {
        yield text;
      },
    });
    const expected = ["1 TASK_STATE_WORKING", "2 TASK_STATE_COMPLETED"];
    await ask("SendMessage", says("hello"));
    expect(stored.splice(0)).toEqual(expected);
    const seen: unknown[] = [];
    for await (const { result } of events("SendStreamingMessage", says("hello"))) {
      seen.push((result.task ?? result.statusUpdate)?.status.state ?? "artifact");
    }
    expect(stored).toEqual(expected);
    const states = ["SUBMITTED", "WORKING"].map((state) => `TASK_STATE_${state}`);
    expect(seen).toEqual([...states, "artifact", "TASK_STATE_COMPLETED"]);
  });

  test("fails the task without details if the agent answers it with an invalid message", async () => {
    const logged: Parsed[] = [];
    const { ask } = await serveAgent({
      log: { ...silentLog, error: (facts) => void logged.push(facts) },
      async *execute() {
        yield { state: "working", message: [] };
      },
    });
    const { result } = await ask("SendMessage", says("hello"));
    expect(result.task.status.state).toBe("TASK_STATE_FAILED");
    expect(result.task.status.message.parts).toEqual([{ text: "The agent failed" }]);
    expect(String(logged[0]?.err)).toContain("message.parts must have at least 1 entry");
  });

  test("that is a task already keeps working when its agent says something", async () => {
    const [asked, read] = [gate(), gate()];
    const { ask } = await serveAgent({
      async *execute() {
        await asked.passed;
        yield { message: "One moment" };
        await read.passed;
      },
    });
    const params = { ...says("hello"), configuration: { returnImmediately: true } };
    const { id } = (await ask("SendMessage", params)).result.task;
    asked.open();
    const status = async () => (await ask("GetTask", { id })).result.status;
    await expect.poll(async () => (await status()).state).toBe("TASK_STATE_WORKING");
    expect((await status()).message.parts).toEqual([{ text: "One moment" }]);
    read.open();
    await expect.poll(async () => (await status()).state).toBe("TASK_STATE_COMPLETED");
  });

  test("is answered with a task at once if the client wants that, and the task can be read", async () => {
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      async *execute() {
        await passed;
        yield "done";
      },
    });
    const params = { ...says("hello"), configuration: { returnImmediately: true } };
    const { result } = await ask("SendMessage", params);
    expect(result.task.status.state).toBe("TASK_STATE_SUBMITTED");
    const { id } = result.task;
    open();
    await expect
      .poll(async () => (await ask("GetTask", { id })).result.status.state)
      .toBe("TASK_STATE_COMPLETED");
    expect((await ask("GetTask", { id, historyLength: 0 })).result).not.toHaveProperty("history");
  });

  test("can ask for input, and continues with the next message of the task", async () => {
    const { ask } = await serveAgent({
      async *execute({ text }, { history }) {
        if (history.length === 1) yield { state: "input-required", message: "Which city?" };
        else yield `Weather of ${text}`;
      },
    });
    const first = await ask("SendMessage", says("weather"));
    const { id, contextId, status } = first.result.task;
    expect(status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const wrong = await ask("SendMessage", says("Oslo", { taskId: id, contextId: "another" }));
    expect(wrong.error?.code).toBe(-32602);
    const second = await ask("SendMessage", says("Oslo", { taskId: id }));
    expect(second.result.task).toMatchObject({
      id,
      contextId,
      status: { state: "TASK_STATE_COMPLETED" },
    });
    expect(second.result.task.artifacts[0].parts).toEqual([{ text: "Weather of Oslo" }]);
    const third = await ask("SendMessage", says("again", { taskId: id }));
    expect([third.error?.code, reasonOf(third.error)]).toEqual([-32004, "UNSUPPORTED_OPERATION"]);
    const unknown = await ask("SendMessage", says("again", { taskId: "none" }));
    expect([unknown.error?.code, reasonOf(unknown.error)]).toEqual([-32001, "TASK_NOT_FOUND"]);
  });
});

describe("a stream", () => {
  test("gives the task, then each step, as responses with the id of the request", async () => {
    const { events } = await serveAgent({
      async *execute() {
        yield { state: "working" };
        yield "one";
        yield "two";
      },
    });
    const seen = await all(events("SendStreamingMessage", says("go")));
    expect(seen.every((each) => each.id === "one" && each.jsonrpc === "2.0")).toBe(true);
    expect(seen.map(({ result }) => Object.keys(result)[0])).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(seen[3]?.result.artifactUpdate.append).toBe(true);
    expect(seen[4]?.result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
  });

  test("that cannot begin is answered with an error as JSON", async () => {
    const { ask } = await serveAgent({ execute: () => "never" });
    const { error } = await ask("SendStreamingMessage", { message: { messageId: "m" } });
    expect(error?.code).toBe(-32602);
    expect(error?.data[0].fieldViolations[0].field).toBe("message.role");
  });

  test("has the same events in the same order for each subscriber, and continues if one leaves", async () => {
    const steps = [gate(), gate(), gate()];
    const { ask, events } = await serveAgent({
      async *execute() {
        for (const [i, step] of steps.entries()) {
          await step.passed;
          yield `step ${i}`;
        }
      },
    });
    const params = { ...says("go"), configuration: { returnImmediately: true } };
    const { id } = (await ask("SendMessage", params)).result.task;
    const readers = [events("SubscribeToTask", { id }), events("SubscribeToTask", { id })];
    const leaver = events("SubscribeToTask", { id });
    for (const reader of [...readers, leaver])
      expect((await reader.next()).value.result.task.id).toBe(id);
    steps[0]?.open();
    await leaver.next();
    await leaver.return(undefined);
    steps[1]?.open();
    steps[2]?.open();
    const [a, b] = await Promise.all(readers.map((reader) => all(reader)));
    expect(a).toEqual(b);
    expect(a?.map(({ result }) => result.artifactUpdate?.artifact.parts[0].text)).toEqual([
      undefined,
      "step 0",
      "step 1",
      "step 2",
      undefined,
    ]);
    const over = await ask("SubscribeToTask", { id });
    expect([over.error?.code, reasonOf(over.error)]).toEqual([-32004, "UNSUPPORTED_OPERATION"]);
    expect((await ask("SubscribeToTask", { id: "none" })).error?.code).toBe(-32001);
  });
});

test("subscribers of a task that asks for input get what happens after the next message", async () => {
  const { ask, events } = await serveAgent({
    async *execute({ text }) {
      yield text === "go" ? { state: "input-required" } : "done";
    },
  });
  const { id } = (await ask("SendMessage", says("go"))).result.task;
  const readers = [events("SubscribeToTask", { id }), events("SubscribeToTask", { id })];
  for (const reader of readers)
    expect((await reader.next()).value.result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  await ask("SendMessage", says("on", { taskId: id }));
  const [a, b] = await Promise.all(readers.map((reader) => all(reader)));
  expect(a).toEqual(b);
  expect(a?.at(-1)?.result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
});

describe("cancelling", () => {
  test("aborts the signal of the agent, and ends the task", async () => {
    const aborted = gate();
    const { ask } = await serveAgent({
      async *execute(_, { signal }) {
        yield { state: "working" };
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        aborted.open();
        yield "too late";
      },
    });
    const params = { ...says("go"), configuration: { returnImmediately: true } };
    const { id } = (await ask("SendMessage", params)).result.task;
    const { result } = await ask("CancelTask", { id });
    expect(result.status.state).toBe("TASK_STATE_CANCELED");
    await aborted.passed;
    const after = await ask("GetTask", { id });
    expect(after.result.status.state).toBe("TASK_STATE_CANCELED");
    expect(after.result).not.toHaveProperty("artifacts");
    const again = await ask("CancelTask", { id });
    expect([again.error?.code, reasonOf(again.error)]).toEqual([-32002, "TASK_NOT_CANCELABLE"]);
  });

  test("and completing at the same moment leave one final state, which both report", async () => {
    const { ask } = await serveAgent({
      async *execute(_, { signal }) {
        yield { state: "working" };
        await Promise.resolve(signal);
        yield "done";
      },
    });
    const outcomes = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const params = { ...says("go"), configuration: { returnImmediately: true } };
      const { id } = (await ask("SendMessage", params)).result.task;
      const { result, error } = await ask("CancelTask", { id });
      const { state } = (await ask("GetTask", { id })).result.status;
      if (error === undefined) expect(result.status.state).toBe("TASK_STATE_CANCELED");
      else expect(error.code).toBe(-32002);
      expect(state).toBe(error === undefined ? "TASK_STATE_CANCELED" : "TASK_STATE_COMPLETED");
      outcomes.add(state);
    }
    expect(outcomes.size).toBeGreaterThan(0);
  });
});

describe("tasks", () => {
  test("are listed newest first, by pages, and filtered", async () => {
    const { ask } = await serveAgent({
      async *execute({ text }) {
        if (text === "ask") yield { state: "input-required" };
        else yield text;
      },
    });
    const ids: string[] = [];
    for (const text of ["a", "b", "ask", "c"]) {
      ids.unshift(
        (await ask("SendMessage", says(text, { contextId: `of-${text}` }))).result.task.id,
      );
    }
    const first = (await ask("ListTasks", { pageSize: 3 })).result;
    expect(first).toMatchObject({ pageSize: 3, totalSize: 4 });
    const second = (await ask("ListTasks", { pageSize: 3, pageToken: first.nextPageToken })).result;
    expect(second.nextPageToken).toBe("");
    const listed = [...first.tasks, ...second.tasks];
    expect(new Set(listed.map(({ id }: Parsed) => id))).toEqual(new Set(ids));
    expect(listed.every((task: Parsed) => !("artifacts" in task) && !("history" in task))).toBe(
      true,
    );
    const waiting = (await ask("ListTasks", { status: "TASK_STATE_INPUT_REQUIRED" })).result;
    expect(waiting.tasks.map(({ contextId }: Parsed) => contextId)).toEqual(["of-ask"]);
    const one = (await ask("ListTasks", { contextId: "of-b", includeArtifacts: true })).result;
    expect(one.tasks[0].artifacts[0].parts).toEqual([{ text: "b" }]);
    expect((await ask("ListTasks", { pageToken: "nonsense" })).error?.code).toBe(-32602);
    expect((await ask("ListTasks", { pageSize: 0 })).error?.code).toBe(-32602);
  });

  test("belong to the caller that sent the message", async () => {
    const { ask } = await serveAgent({
      use: [authenticate(bearer((token) => ({ id: token })))],
      async *execute(_, { principal }) {
        yield `for ${principal?.id}`;
      },
    });
    const ann = { authorization: "Bearer ann" };
    const bob = { authorization: "Bearer bob" };
    const { task } = (await ask("SendMessage", says("hello"), ann)).result;
    expect(task.artifacts[0].parts).toEqual([{ text: "for ann" }]);
    for (const method of ["GetTask", "CancelTask", "SubscribeToTask"]) {
      expect((await ask(method, { id: task.id }, bob)).error?.code).toBe(-32001);
    }
    expect((await ask("ListTasks", {}, bob)).result.totalSize).toBe(0);
    expect((await ask("ListTasks", { tenant: "other" }, ann)).result.totalSize).toBe(0);
    expect((await ask("ListTasks", {}, ann)).result.totalSize).toBe(1);
  });
});

describe("an agent refuses", () => {
  const execute = () => "hello";

  test("versions that it does not support", async () => {
    const { ask } = await serveAgent({ execute });
    const { error } = await ask("SendMessage", says("hi"), { "a2a-version": "2.0" });
    expect([error?.code, reasonOf(error)]).toEqual([-32009, "VERSION_NOT_SUPPORTED"]);
  });

  test("clients that do not declare a required extension", async () => {
    const uri = "https://example.com/required";
    const { ask } = await serveAgent({
      card: { name: "a", description: "b", extensions: [{ uri, required: true }] },
      execute: (_, { extensions }) => extensions.join(" "),
    });
    const refused = await ask("SendMessage", says("hi"));
    expect([refused.error?.code, reasonOf(refused.error)]).toEqual([
      -32008,
      "EXTENSION_SUPPORT_REQUIRED",
    ]);
    const { result } = await ask("SendMessage", says("hi"), { "a2a-extensions": `x, ${uri}` });
    expect(result.message.parts).toEqual([{ text: `x ${uri}` }]);
  });

  test("media types that its card does not name", async () => {
    const { ask } = await serveAgent({ execute });
    const parts = [{ raw: "AA==", mediaType: "image/png" }];
    const { error } = await ask("SendMessage", says("hi", { parts }));
    expect([error?.code, reasonOf(error)]).toEqual([-32005, "CONTENT_TYPE_NOT_SUPPORTED"]);
  });

  test("to stream, to push and to give an extended card if it cannot", async () => {
    const { ask } = await serveAgent({
      card: { name: "a", description: "b", streaming: false },
      execute,
    });
    expect((await ask("SendStreamingMessage", says("hi"))).error?.code).toBe(-32004);
    expect((await ask("SubscribeToTask", { id: "x" })).error?.code).toBe(-32004);
    const push = await ask("CreateTaskPushNotificationConfig", {
      taskId: "x",
      url: "https://example.com",
    });
    expect([push.error?.code, reasonOf(push.error)]).toEqual([
      -32003,
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ]);
    expect((await ask("GetExtendedAgentCard", {})).error?.code).toBe(-32004);
  });

  test("more messages than it may work on, and says when to try again", async () => {
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      maxAgents: 1,
      async *execute() {
        await passed;
        yield "done";
      },
    });
    const params = { ...says("go"), configuration: { returnImmediately: true } };
    await ask("SendMessage", params);
    const { error } = await ask("SendMessage", says("more"));
    // Our own code for this belongs to another error in A2A.
    expect(error).toMatchObject({
      code: -32000,
      data: [{ reason: "SERVER_BUSY", domain: "callwire", metadata: { ran: "false" } }],
    });
    open();
  });

  test("more messages than fit into memory, even if their callers wait no longer", async () => {
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      maxRunningBytes: 40_000,
      async *execute() {
        await passed;
        yield "done";
      },
    });
    const configuration = { returnImmediately: true };
    const send = (text: string) => ask("SendMessage", { ...says(text), configuration });
    expect((await send("x".repeat(5_000))).error).toBeUndefined();
    expect((await send("x".repeat(5_000))).error).toMatchObject({ code: -32000 });
    open();
  });

  test("more than its share of messages from one caller, in however many tenants", async () => {
    const { passed, open } = gate();
    const { ask } = await serveAgent({
      maxAgents: 4,
      use: [authenticate(bearer((token) => ({ id: token })))],
      async *execute() {
        await passed;
        yield "done";
      },
    });
    const send = async (caller: string, tenant: string) => {
      const params = { ...says("go"), tenant, configuration: { returnImmediately: true } };
      return (await ask("SendMessage", params, { authorization: `Bearer ${caller}` })).error?.code;
    };
    const codes: unknown[] = [];
    for (let i = 0; i < 4; i++) codes.push(await send("ann", `t${i}`));
    expect(codes).toEqual([undefined, undefined, undefined, -32000]);
    expect(await send("bob", "")).toBeUndefined();
    open();
  });
});

test("the extended card depends on the caller", async () => {
  const { ask, base } = await serveAgent({
    execute: () => "hello",
    extendedCard: ({ transport }) =>
      transport.headers["x-known"] === undefined
        ? undefined
        : { name: "More", description: "More" },
  });
  const unknown = await ask("GetExtendedAgentCard", {});
  expect([unknown.error?.code, reasonOf(unknown.error)]).toEqual([
    -32007,
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  ]);
  expect((await ask("GetExtendedAgentCard", {}, { "x-known": "yes" })).result).toMatchObject({
    name: "More",
    supportedInterfaces: [{ url: `${base}/a2a` }, { url: `${base}/a2a` }],
  });
});

test("the card says how to authenticate, from the middleware in use", async () => {
  const credentials = [bearer(() => undefined), apiKeys([]), mutualTls()];
  const { agent } = await serveAgent({ execute: () => "", use: [authenticate(credentials)] });
  const card = await agent.card("https://agents.example.com/a2a");
  expect(card).toMatchObject({
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { scheme: "bearer" }, type: "http" },
      apiKey: { apiKeySecurityScheme: { location: "header", name: "x-api-key" }, in: "header" },
      mutualTls: { mtlsSecurityScheme: {} },
    },
    securityRequirements: [
      { schemes: { bearer: { list: [] } } },
      { schemes: { apiKey: { list: [] } } },
      { schemes: { mutualTls: { list: [] } } },
    ],
    security: [{ bearer: [] }, { apiKey: [] }, { mutualTls: [] }],
  });
  const own = await serveAgent({
    execute: () => "",
    use: [
      authenticate(
        bearer(() => undefined),
        { anonymous: true },
      ),
    ],
  });
  expect(await own.agent.card("http://localhost/a2a")).not.toHaveProperty("securitySchemes");
});

test.each(["Node", "fetch"])(
  "pages of a listed origin can read the card on %s, with the headers of A2A",
  async (runtime) => {
    const agent = a2aAgent({ card, execute: () => "hello" });
    const origins = ["https://app.example"];
    const handle = a2aHandler(agent, { hosts: "any", origins });
    const http = await serveHttp(createServer({}), { port: 0, origins, mounts: a2aMounts(agent) });
    onTestFinished(() => http.close());
    const base = `http://127.0.0.1:${http.port}`;
    const asked = (method: string, headers: Record<string, string> = {}): Promise<Response> => {
      const request = new Request(`${base}/.well-known/agent-card.json`, { method, headers });
      return runtime === "Node" ? fetch(request) : Promise.resolve(handle(request));
    };
    const preflight = await asked("OPTIONS", {
      origin: "https://app.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "a2a-version",
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, HEAD",
      "access-control-allow-headers": "a2a-version",
    });
    expect((await asked("GET")).headers.get("access-control-allow-origin")).toBe("*");
    expect(await (await asked("HEAD")).text()).toBe("");
    for (const method of ["POST", "DELETE"]) {
      const refused = await asked(method);
      expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    }
  },
);

test("an agent is also at its path with a slash, which clients with a base URL add", async () => {
  const { base } = await serveAgent({ execute: () => "hello" });
  const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "hi" }] };
  const response = await fetch(`${base}/a2a/`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }),
  });
  expect(await response.json()).toMatchObject({ result: { message: { role: "ROLE_AGENT" } } });
});

test("the card can be cached, and names both versions at the requested address", async () => {
  const { base } = await serveAgent({ execute: () => "hello" });
  const response = await fetch(`${base}/.well-known/agent-card.json`);
  expect(response.headers.get("cache-control")).toMatch(/max-age=\d+/);
  expect(Date.parse(response.headers.get("last-modified") ?? "")).not.toBeNaN();
  const etag = response.headers.get("etag") ?? "";
  const body = (await response.json()) as Parsed;
  expect(body.supportedInterfaces.map((each: Parsed) => [each.url, each.protocolVersion])).toEqual([
    [`${base}/a2a`, "1.0"],
    [`${base}/a2a`, "0.3"],
  ]);
  expect(body).toMatchObject({
    url: `${base}/a2a`,
    preferredTransport: "JSONRPC",
    skills: [{ id: "agent" }],
  });
  const again = await fetch(`${base}/.well-known/agent-card.json`, {
    headers: { "if-none-match": etag },
  });
  expect(again.status).toBe(304);
  const modified = response.headers.get("last-modified") ?? "";
  const since = async (headers: Record<string, string>) =>
    (await fetch(`${base}/.well-known/agent-card.json`, { headers })).status;
  expect(await since({ "if-modified-since": modified })).toBe(304);
  expect(await since({ "if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT" })).toBe(200);
  expect(await since({ "if-modified-since": "yesterday" })).toBe(200);
  expect(await since({ "if-modified-since": modified, "if-none-match": '"other"' })).toBe(200);
});
