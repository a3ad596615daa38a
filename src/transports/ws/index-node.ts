/** JSON-RPC over WebSocket on Node: a link for clients, and an upgrade handler for servers. @module callwire/ws */

export {
  type WsHandlerOptions,
  type WsHooks,
  type WsMessage,
  type WsPeer,
  wsHandler,
} from "./hooks.ts";
export type {
  PerConnection,
  WebSocketConnectOptions,
  WebSocketLinkOptions,
} from "./link-options.ts";
export {
  connectWebSocket,
  type NodeWebSocketConnectOptions,
  type NodeWebSocketLinkOptions,
  webSocketLink,
} from "./node-client.ts";
export { type UpgradeHandler, type WsUpgradeOptions, wsUpgrade } from "./upgrade.ts";
export type { AdmissionOptions, Admitted, Refused } from "./upgrade-check.ts";
