/** Servers that share a store: each answers for the tasks of the others. */
import { Kvm } from "@nats-io/kv";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { type McpServer, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { natsWork } from "callwire/nats/kv";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { TestNats } from "../../transports/nats/test-nats.ts";
import { askModern, envelope, eventsOf, request } from "./asking.ts";

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: {} };

describeWith(["nats-server"], "MCP servers with one store", () => {
  async function fleet(methods: Parameters<typeof mcpServer>[0]): Promise<[McpServer, McpServer]> {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const bucket = await new Kvm(await testNats.connect()).create("tasks");
    const server = () => {
      const tasks = { store: natsWork(bucket) };
      const made = mcpServer(methods, { name: "fleet", version: "1", log: silentLog, tasks });
      onTestFinished(() => made.close({ drainMs: 0 }));
      return made;
    };
    return [server(), server()];
  }
  const asking = (server: McpServer) => async (method: string, params: object) =>
    (await askModern(server, method, params, capabilities)).result;

  test("pass answers to the process that asked", async () => {
    const [one, other] = await fleet({
      greet: tool({ task: "required" }, async (_, call) => {
        const answer = await call.elicit("Name?", z.object({ name: z.string() }), { key: "n" });
        return `Hello, ${answer.content?.name}`;
      }),
    });
    const taskId = (await asking(one)("tools/call", { name: "greet" }))?.taskId;
    const ask = asking(other);
    const state = () => ask("tasks/get", { taskId });
    await expect.poll(state).toMatchObject({
      status: "input_required",
      inputRequests: { n: { params: { message: "Name?" } } },
    });
    const inputResponses = { n: { action: "accept", content: { name: "Ada" } }, x: 1 };
    await ask("tasks/update", { taskId, inputResponses });
    await expect.poll(state).toMatchObject({
      status: "completed",
      result: { content: [{ text: "Hello, Ada" }] },
    });
  });

  test("cancel the tasks of each other, and notify the listeners of each", async () => {
    let aborted = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    const [one, other] = await fleet({
      work: tool({ task: "required" }, (_, { signal }) => {
        signal.addEventListener("abort", aborted);
        return new Promise(() => {});
      }),
    });
    const taskId = (await asking(one)("tools/call", { name: "work" }))?.taskId;
    const http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(one) });
    onTestFinished(() => http.close());
    const notifications = { taskIds: [taskId, "missing"] };
    const response = await fetch(new URL("/mcp", http.url), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      },
      body: JSON.stringify(
        request("subscriptions/listen", { notifications, _meta: envelope(capabilities) }),
      ),
    });
    const events = eventsOf(response);
    const next = async () => JSON.parse((await events.next()).value?.data ?? "null");
    expect((await next()).params.notifications).toEqual({ taskIds: [taskId] });
    await asking(other)("tasks/cancel", { taskId });
    await stopped;
    expect(await next()).toMatchObject({
      method: "notifications/tasks",
      params: { taskId, status: "cancelled" },
    });
    await events.return(undefined);
  });
});
