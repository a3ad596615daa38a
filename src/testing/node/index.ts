/** Wires of the conformance kit that need Node: raw HTTP, WebSocket, sockets and programs. @module callwire/testing/node */
export { type HttpConformanceOptions, httpConformanceWire } from "./http-wire.ts";
export {
  type SocketConformanceOptions,
  type StdioConformanceOptions,
  socketConformanceWire,
  stdioConformanceWire,
} from "./stream-wires.ts";
export {
  rawWebSocketConformanceWire,
  type WebSocketConformanceOptions,
} from "./web-socket-wire.ts";
