/** Wires for the conformance kit that only Node has: bare HTTP, WebSocket, sockets and programs. @module callwire/testing/node */
export { type HttpConformanceOptions, httpConformanceWire } from "./http-wire.ts";
export { type SocketConformanceOptions, socketConformanceWire } from "./socket-wire.ts";
export { type StdioConformanceOptions, stdioConformanceWire } from "./stdio-wire.ts";
export {
  rawWebSocketConformanceWire,
  type WebSocketConformanceOptions,
} from "./web-socket-wire.ts";
