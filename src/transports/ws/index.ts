/** JSON-RPC over WebSocket: a link for clients, and hooks that mount a server anywhere. @module */

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
export { connectWebSocket, webSocketLink } from "./native-client.ts";
export type { AdmissionOptions, Admitted, Refused } from "./upgrade-check.ts";
