import type { FuzzTarget } from "./target.ts";
import { a2aClient, a2aServer } from "./targets/a2a.ts";
import { answer } from "./targets/answer.ts";
import { connection } from "./targets/connection.ts";
import { eventStream } from "./targets/event-stream.ts";
import { contentLength, lengthPrefix, newline } from "./targets/framing.ts";
import { gatewayConfig } from "./targets/gateway-config.ts";
import { httpClient } from "./targets/http-client.ts";
import { httpEndpoint } from "./targets/http-endpoint.ts";
import { httpFastPath } from "./targets/http-fast-path.ts";
import { httpReplies } from "./targets/http-replies.ts";
import { mcpClientTarget } from "./targets/mcp-client.ts";
import { mcpServerTarget } from "./targets/mcp-server.ts";
import { multipart } from "./targets/multipart.ts";
import { natsClient, natsSubjects, natsWorker } from "./targets/nats.ts";
import { openrpc } from "./targets/openrpc.ts";
import { richValues } from "./targets/rich-values.ts";
import { signedConnection, signedHttp } from "./targets/signed.ts";
import { textDocument } from "./targets/text-document.ts";
import { webSocket, webSocketFrames } from "./targets/websocket.ts";

/** All targets by name. */
export const targets: Readonly<Record<string, FuzzTarget>> = {
  answer,
  newline,
  "content-length": contentLength,
  "length-prefix": lengthPrefix,
  "event-stream": eventStream,
  "http-endpoint": httpEndpoint,
  "http-fast-path": httpFastPath,
  multipart,
  "rich-values": richValues,
  connection,
  "http-client": httpClient,
  "http-replies": httpReplies,
  openrpc,
  "gateway-config": gatewayConfig,
  "mcp-server": mcpServerTarget,
  "mcp-client": mcpClientTarget,
  "a2a-server": a2aServer,
  "a2a-client": a2aClient,
  "nats-subjects": natsSubjects,
  "nats-worker": natsWorker,
  "nats-client": natsClient,
  websocket: webSocket,
  "websocket-frames": webSocketFrames,
  "text-document": textDocument,
  "signed-http": signedHttp,
  "signed-connection": signedConnection,
};
