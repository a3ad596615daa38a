/** Agent2Agent (A2A): methods and functions as agents, and a client for other agents. @module callwire/a2a */
export { type A2aAgent, type A2aAgentOptions, a2aAgent } from "./a2a-agent.ts";
export type { AgentState, AgentUpdate, Content } from "./agent-update.ts";
export type {
  AgentCard,
  AgentDescription,
  AgentExtension,
  AgentInterface,
  AgentSkill,
  CardSignature,
  CardSigner,
  SecurityRequirement,
  SecurityScheme,
} from "./card.ts";
export {
  type A2aClient,
  type A2aClientOptions,
  a2aClient,
  type SendOptions,
} from "./client/a2a-client.ts";
export { CardCache, type CardCacheOptions } from "./client/card-cache.ts";
export { A2aErrorCode, type A2aErrorName, a2aError } from "./errors.ts";
export type { AgentTask, AgentUpdates, Execute, IncomingMessage } from "./executor.ts";
export { type A2aHandlerOptions, a2aHandler } from "./fetch-handler.ts";
export type {
  Artifact,
  ArtifactUpdate,
  ListTasksParams,
  ListTasksResult,
  Message,
  Part,
  PushConfig,
  SendConfiguration,
  SendParams,
  SendResult,
  StatusUpdate,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from "./model.ts";
export type { Webhooks } from "./push-sender.ts";
export type { ToolCaller } from "./tool-skills.ts";
export { type A2aWebhookOptions, a2aWebhook } from "./webhook-receiver.ts";
