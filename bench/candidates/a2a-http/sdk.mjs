import { createServer } from "node:http";
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";
import { asked } from "../a2a-request.mjs";
import { listening } from "../listening.mjs";

const status = (state) => ({ state, timestamp: new Date().toISOString() });

/** The official SDK as its documentation has it. */
const executor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const task = { id: taskId, contextId, status: status("TASK_STATE_SUBMITTED") };
    bus.publish({ kind: "task", data: { ...Task.fromJSON(task), history: [userMessage] } });
    const working = { taskId, contextId, status: status("TASK_STATE_WORKING") };
    bus.publish({ kind: "statusUpdate", data: TaskStatusUpdateEvent.fromJSON(working) });
    const artifact = { artifactId: "answer", parts: [{ text: "hello" }] };
    const made = { taskId, contextId, artifact };
    bus.publish({ kind: "artifactUpdate", data: TaskArtifactUpdateEvent.fromJSON(made) });
    const done = { taskId, contextId, status: status("TASK_STATE_COMPLETED") };
    bus.publish({ kind: "statusUpdate", data: TaskStatusUpdateEvent.fromJSON(done) });
    bus.finished();
  },
  async cancelTask() {},
};

export default async () => {
  const card = AgentCard.fromJSON({
    name: "Echo",
    description: "Repeats what it is told",
    version: "1",
    supportedInterfaces: [
      { url: "http://127.0.0.1/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "echo", name: "Echo", description: "Repeats", tags: ["echo"] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const app = express();
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/a2a", jsonRpcHandler({ requestHandler, userBuilder }));
  return asked(await listening(createServer(app)), "/a2a");
};
