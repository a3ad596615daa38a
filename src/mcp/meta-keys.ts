/** Members of `_meta`. */
export const MetaKey = {
  ProtocolVersion: "io.modelcontextprotocol/protocolVersion",
  ClientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  ClientInfo: "io.modelcontextprotocol/clientInfo",
  ServerInfo: "io.modelcontextprotocol/serverInfo",
  LogLevel: "io.modelcontextprotocol/logLevel",
  SubscriptionId: "io.modelcontextprotocol/subscriptionId",
  RelatedTask: "io.modelcontextprotocol/related-task",
  /** Code and data of the error behind a tool's `isError`. */
  Error: "callwire/error",
} as const;

/** Tasks are this extension since 2026-07-28. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export interface Meta {
  readonly progressToken?: string | number;
  readonly [key: string]: unknown;
}
