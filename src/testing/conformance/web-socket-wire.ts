import type { LineWire } from "./wire.ts";

/**
 * WebSocket by means of the platform's own, for browsers too. Cases that need odd frames are passed over.
 * @example
 * ```ts
 * import { runConformance, webSocketConformanceWire } from "callwire/testing";
 *
 * const report = await runConformance(webSocketConformanceWire("ws://127.0.0.1:8000/rpc/ws"));
 * console.log(report.ok);
 * ```
 */
export function webSocketConformanceWire(url: string): LineWire {
  return {
    kind: "line",
    name: "WebSocket",
    address: url,
    abilities: new Set(["websocket"]),
    open: (listener, signal) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url);
        const abort = (): void => {
          socket.close();
          reject(signal.reason);
        };
        signal.addEventListener("abort", abort);
        socket.onmessage = ({ data }) => listener.message(String(data));
        socket.onclose = ({ code }) => {
          signal.removeEventListener("abort", abort);
          reject(new Error(`the WebSocket was closed with ${code}`));
          listener.end(`the WebSocket was closed with ${code}`);
        };
        const send = (data: string | Uint8Array): void => {
          if (socket.readyState === socket.OPEN) socket.send(data as Uint8Array<ArrayBuffer>);
        };
        socket.onopen = () => {
          signal.removeEventListener("abort", abort);
          resolve({
            send,
            frame: (text) => send(new TextEncoder().encode(text)),
            close: () => socket.close(),
          });
        };
      }),
  };
}
