import { WebSocket } from "ws";
import type { WireAbility } from "../conformance/case.ts";
import { isLoopback, type LineWire } from "../conformance/conformance-wire.ts";

export interface WebSocketConformanceOptions {
  /** Sent with the handshake, such as a token. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * WebSocket with arbitrary headers and frames.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { rawWebSocketConformanceWire } from "callwire/testing/node";
 *
 * const wire = rawWebSocketConformanceWire("ws://127.0.0.1:8000/rpc/ws");
 * console.log((await runConformance(wire)).ok);
 * ```
 */
export function rawWebSocketConformanceWire(
  url: string,
  options: WebSocketConformanceOptions = {},
): LineWire {
  const abilities: WireAbility[] = ["websocket", "raw-websocket"];
  if (isLoopback(new URL(url).hostname)) abilities.push("loopback");
  const connect = (
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
    prepare: (socket: WebSocket) => void = () => {},
  ): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const socket = new WebSocket(url, { headers: { ...options.headers, ...headers } });
      const abort = (): void => {
        socket.terminate();
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort);
      // Before `open`: the first message may arrive together with the handshake response.
      prepare(socket);
      socket.on("error", reject);
      socket.on("open", () => {
        signal.removeEventListener("abort", abort);
        resolve(socket);
      });
      socket.on("close", () => signal.removeEventListener("abort", abort));
    });
  return {
    kind: "line",
    name: "WebSocket",
    address: url,
    abilities: new Set(abilities),
    async open(listener, signal) {
      const socket = await connect({}, signal, (opening) => {
        opening.on("message", (data) => listener.message(String(data)));
        opening.on("close", (code) => listener.end(`the WebSocket was closed with ${code}`));
      });
      const send = (
        data: string | Uint8Array,
        how: { binary?: boolean; fin?: boolean } = {},
      ): void => {
        if (socket.readyState === WebSocket.OPEN) socket.send(data, how);
      };
      return {
        send: (message) => send(message, { binary: false }),
        frame(text, form) {
          if (form === "binary") return send(Buffer.from(text), { binary: true });
          const middle = Math.floor(text.length / 2);
          send(text.slice(0, middle), { fin: false });
          send(text.slice(middle), { fin: true });
        },
        close: () => socket.terminate(),
      };
    },
    async handshake(headers, signal) {
      const socket = await connect(headers, signal);
      socket.terminate();
    },
  };
}
