/** Tests that take long: thousands of tasks, and peers that do nothing. */
import { createServer as createTcpServer, type Socket } from "node:net";
import { silentLog } from "callwire";
import { webhooks } from "callwire/a2a/node";
import { FakeClock } from "callwire/testing";
import { MemoryWorkStore } from "callwire/work";
import { expect, onTestFinished, test } from "vitest";
import { gate, type Reply, says, serveAgent } from "./served-agent.ts";

const returnImmediately = { configuration: { returnImmediately: true } };

test("10,000 tasks that are open and abandoned end with their time, and new ones are taken", async () => {
  const clock = new FakeClock();
  let open = 0;
  const { ask } = await serveAgent({
    clock,
    log: silentLog,
    store: new MemoryWorkStore({ clock, ttlMs: 60_000 }),
    // The agent asks for input that never comes, so that nothing runs.
    async *execute() {
      open++;
      yield { state: "input-required", message: "Well?" };
    },
  });
  let id = "";
  for (let i = 0; i < 10_000; i += 100) {
    const some = Array.from({ length: 100 }, () => ask("SendMessage", says("go")));
    for (const { result } of await Promise.all(some)) id = result.task.id;
  }
  expect(open).toBe(10_000);
  expect((await ask("GetTask", { id })).result.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  expect((await ask("SendMessage", says("one more"))).error?.data).toMatchObject([
    { reason: "SERVER_BUSY" },
  ]);
  clock.advance(61_001);
  expect((await ask("GetTask", { id })).error?.code).toBe(-32001);
  expect((await ask("SendMessage", says("again"))).result.task.id).toBeDefined();
}, 120_000);

test("10,000 times, cancelling and completing at the same moment leave one final state", async () => {
  const gates = new Map<string, ReturnType<typeof gate>>();
  const { agent } = await serveAgent({
    log: silentLog,
    async *execute(_, { id }) {
      const own = gate();
      gates.set(id, own);
      yield { state: "working" };
      await own.passed;
      yield "done";
    },
  });
  // In process, because over a wire the same side would always win the race.
  const ask = async (method: string, params: object): Promise<Reply> =>
    JSON.parse(
      (await agent.receive(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }))) ?? "{}",
    );
  const finals = new Map<string, number>();
  for (let i = 0; i < 10_000; i++) {
    const { id } = (await ask("SendMessage", { ...says("go"), ...returnImmediately })).result.task;
    gates.get(id)?.open();
    // Which of the two comes first varies.
    for (let turn = 0; turn < i % 24; turn++) await undefined;
    const { result, error } = await ask("CancelTask", { id });
    const { state } = (await ask("GetTask", { id })).result.status;
    if (error === undefined)
      expect([result.status.state, state]).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"]);
    else expect([error.code, state]).toEqual([-32002, "TASK_STATE_COMPLETED"]);
    finals.set(state, (finals.get(state) ?? 0) + 1);
    gates.delete(id);
  }
  expect([...finals.keys()].sort()).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"]);
}, 240_000);

test("a subscriber that never reads neither holds up the task nor other subscribers", async () => {
  const steps = 20_000;
  const { ask, base } = await serveAgent({
    log: silentLog,
    store: new MemoryWorkStore({ maxBytes: 2 ** 30 }),
    async *execute() {
      for (let i = 0; i < steps; i++) yield { state: "working", message: "x".repeat(1_000) };
    },
  });
  const response = await fetch(`${base}/a2a`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SendStreamingMessage",
      params: { message: says("go").message },
    }),
  });
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  const id = /"id":"([^"]+)","contextId"/.exec(new TextDecoder().decode(value))?.[1];
  await expect
    .poll(async () => (await ask("GetTask", { id, historyLength: 0 })).result.status.state, {
      timeout: 100_000,
    })
    .toBe("TASK_STATE_COMPLETED");
  await reader?.cancel();
}, 120_000);

test("a webhook that never answers holds up neither the task nor the agent's end", async () => {
  const sockets: Socket[] = [];
  const deaf = createTcpServer((socket) => void sockets.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => deaf.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    deaf.close();
  });
  const { port } = deaf.address() as { port: number };
  const host = `127.0.0.1:${port}`;
  const { ask, agent } = await serveAgent({
    log: silentLog,
    push: webhooks({ allow: [host] }),
    async *execute() {
      yield "done";
    },
  });
  const taskPushNotificationConfig = { url: `http://${host}/hook` };
  const configuration = { taskPushNotificationConfig };
  const replies = await Promise.all(
    Array.from({ length: 200 }, () => ask("SendMessage", { ...says("go"), configuration })),
  );
  for (const { result } of replies) expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(sockets.length).toBeGreaterThan(0);
  await agent.close({ drainMs: 0 });
}, 60_000);
