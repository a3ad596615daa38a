/** The official SDK of A2A, both ways and in both versions. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  AgentCard,
  Message,
  SendMessageRequest,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { LegacyJsonRpcTransport } from "@a2a-js/sdk/compat/v0_3/client";
import { type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { a2aClient } from "callwire/a2a";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { tckExecute } from "../../../examples/a2a-tck/agent.ts";
import { build, start } from "../../cli/process.ts";
import { describeWith } from "../../services.ts";
import { all, serveAgent } from "../served-agent.ts";

const request = (messageId: string) =>
  SendMessageRequest.fromJSON({
    message: { messageId, role: "ROLE_USER", parts: [{ text: "hi" }] },
  });

describeWith(["a2a peers"], "the client of the SDK", () => {
  test("discovers an agent, calls it and streams from it", async () => {
    const { base } = await serveAgent({ execute: tckExecute(0) });
    const client = await new ClientFactory().createFromUrl(base);
    const task = Task.toJSON((await client.sendMessage(request("tck-artifact-data"))) as Task);
    expect(task).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ data: { key: "value", count: 42 } }] }],
    });
    const events = await all(client.sendMessageStream(request("tck-stream-001")));
    expect(events.map(({ payload }) => payload?.$case)).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    await expect(client.getTask({ id: "none" } as never)).rejects.toThrow(/no such task/i);
  });

  test("talks to the agent of the first page of the docs, which one command serves", async () => {
    const page = readFileSync(new URL("../../../docs/a2a.md", import.meta.url), "utf8");
    const [, source = ""] = /```ts\n\/\/ agent\.ts\n([\s\S]*?)```/.exec(page) ?? [];
    const [, client = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    const folder = mkdtempSync(join(tmpdir(), "callwire-agent-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "agent.ts"), source);
    await build();
    await using server = start(["serve", join(folder, "agent.ts"), "--a2a", "--port", "0"]);
    const [, origin = ""] = await server.shown(/(http:\/\/127\.0\.0\.1:\d+)\/a2a/);
    const program = client.replace("http://127.0.0.1:8000", origin);
    const options = ["--input-type=module", "--eval", program];
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, options, { cwd });
    const [called, ...streamed] = stdout.trimEnd().split("\n");
    expect(called).toMatch(/^[\w-]{36} 2$/);
    expect(streamed).toEqual([
      "{ '$case': 'text', value: 'Hello, ' }",
      "{ '$case': 'text', value: 'world ' }",
    ]);
  });

  test("of 0.3 calls the same address", async () => {
    const { base } = await serveAgent({ execute: tckExecute(0) });
    const client = new LegacyJsonRpcTransport({ endpoint: `${base}/a2a` });
    const task = Task.toJSON((await client.sendMessage(request("tck-artifact-file"))) as Task);
    expect(task).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ filename: "output.txt" }] }],
    });
    const events = await all(client.sendMessageStream(request("tck-stream-artifact-chunked")));
    expect(events).toHaveLength(5);
  });
});

describeWith(["a2a peers"], "our client of an agent of the SDK", () => {
  describe.each(["1.0", "0.3"])("in %s", (version) => {
    const executor: AgentExecutor = {
      async execute({ userMessage, taskId, contextId }, bus) {
        const parts = [{ text: "from the SDK" }];
        if (userMessage.messageId.startsWith("direct")) {
          bus.publish({
            kind: "message",
            data: Message.fromJSON({ messageId: "reply", role: "ROLE_AGENT", parts, contextId }),
          });
          bus.finished();
          return;
        }
        const ids = { taskId, contextId };
        const status = (state: string) => ({ state, timestamp: new Date().toISOString() });
        const task = { id: taskId, contextId, status: status("TASK_STATE_SUBMITTED") };
        bus.publish({ kind: "task", data: Task.fromJSON(task) });
        bus.publish({
          kind: "artifactUpdate",
          data: TaskArtifactUpdateEvent.fromJSON({
            ...ids,
            artifact: { artifactId: "a", parts },
            lastChunk: true,
          }),
        });
        bus.publish({
          kind: "statusUpdate",
          data: TaskStatusUpdateEvent.fromJSON({ ...ids, status: status("TASK_STATE_COMPLETED") }),
        });
        bus.finished();
      },
      async cancelTask() {},
    };

    async function sdkAgent(): Promise<string> {
      const app = express();
      const http = createHttpServer(app);
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => {
        http.closeAllConnections();
        http.close();
      });
      const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
      const card = AgentCard.fromJSON({
        name: "SDK",
        description: "An agent of the SDK",
        version: "1",
        supportedInterfaces: [
          { url: `${base}/sdk`, protocolBinding: "JSONRPC", protocolVersion: version },
        ],
        capabilities: { streaming: true },
        defaultInputModes: ["text/plain"],
        defaultOutputModes: ["text/plain"],
        skills: [{ id: "s", name: "s", description: "s", tags: ["s"] }],
      });
      const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
      const userBuilder = UserBuilder.noAuthentication;
      app.use(
        "/.well-known/agent-card.json",
        agentCardHandler({ agentCardProvider: requestHandler }),
      );
      app.use(
        "/sdk",
        jsonRpcHandler({ requestHandler, userBuilder, legacyCompat: { enabled: true } }),
      );
      return base;
    }

    test("sends, streams, and reads tasks", async () => {
      const agent = await a2aClient(await sdkAgent());
      expect(agent.card.name).toBe("SDK");
      const direct = await agent.send({
        messageId: "direct-1",
        role: "ROLE_USER",
        parts: [{ text: "x" }],
      });
      expect(direct).toMatchObject({
        message: { role: "ROLE_AGENT", parts: [{ text: "from the SDK" }] },
      });
      const sent = await agent.send("work");
      expect(sent).toMatchObject({
        task: {
          status: { state: "TASK_STATE_COMPLETED" },
          artifacts: [{ parts: [{ text: "from the SDK" }] }],
        },
      });
      const events = await all(agent.stream("work"));
      expect(events.map((event) => Object.keys(event)[0])).toEqual([
        "task",
        "artifactUpdate",
        "statusUpdate",
      ]);
      const { id } = (events[0] as { task: { id: string } }).task;
      expect((await agent.getTask(id)).status.state).toBe("TASK_STATE_COMPLETED");
      await expect(agent.getTask("none")).rejects.toMatchObject({ code: -32001 });
      await agent.close();
    });
  });
});
