import type { IncomingMessage } from "node:http";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { Connection } from "../../connection/connection.ts";
import { maxIncomingBytes } from "../../connection/connection-options.ts";
import { readText } from "../../http/client-exchange.ts";
import { longestDelayMs, systemClock } from "../../protocol/clock.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import { defaultConnectTimeoutMs } from "../../protocol/defaults.ts";
import { RemoteError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json-text.ts";
import type { Link } from "../../protocol/link.ts";
import { replyOf } from "../../protocol/pair.ts";
import { isRelative } from "../../protocol/url.ts";
import { connectionFailed, webSocketUrl } from "./address.ts";
import type { ClosingSocket } from "./closing-socket.ts";
import {
  clientLimits,
  reconnectingWith,
  type UpgradeRequest,
  upgradeRequest,
  type WebSocketConnectOptions,
  type WebSocketLinkOptions,
} from "./link-options.ts";
import { NodeChannel } from "./node-channel.ts";
import { receiverSettings } from "./receiver-settings.ts";

/** A refusal is one short error; a server that sends more of it, or slowly, has said nothing. */
const longestRefusal = 64 * 1024;
const longestRefusalMs = 2_000;

/** Options that browsers do not have. */
interface NodeOptions {
  /** Compresses messages of at least 1,024 characters in both directions, if the server agrees to `permessage-deflate`. @default false */
  readonly compress?: boolean;
  /** TLS options for `wss:`, such as trusted and client certificates. */
  readonly tls?: Pick<
    TlsOptions,
    "ca" | "cert" | "key" | "passphrase" | "rejectUnauthorized" | "servername"
  >;
}

export interface NodeWebSocketConnectOptions extends WebSocketConnectOptions, NodeOptions {}
export interface NodeWebSocketLinkOptions extends WebSocketLinkOptions, NodeOptions {}

/**
 * Resolves when the connection is open; rejects with `CONNECTION_FAILED`, and the HTTP status if there was one. The error of
 * a server that refuses the connection is its cause, as a `RemoteError`.
 * @example
 * ```ts
 * import { connectWebSocket } from "callwire/ws";
 *
 * // `service` answers what the server calls on this client.
 * const connection = await connectWebSocket("ws://127.0.0.1:8000/rpc/ws", { service: server });
 * console.log(await connection.call("math/add", { a: 2, b: 3 }));
 * connection.close();
 * ```
 */
export async function connectWebSocket(
  address: string | URL,
  options: NodeWebSocketConnectOptions = {},
): Promise<Connection> {
  const url = webSocketUrl(address, options.baseUrl);
  const { service, log = service?.log ?? consoleLog, seal, signal } = options;
  const limits = clientLimits(options);
  const request = await upgradeRequest(options);
  const { ClosingSocket } = await import("./closing-socket.ts");
  signal?.throwIfAborted();
  const ws = openSocket(ClosingSocket, url, request, options, maxIncomingBytes(limits));
  return new Promise((resolve, reject) => {
    let refusal: Error | undefined;
    let accepted: IncomingMessage | undefined;
    const abort = (): void => {
      reject(signal?.reason);
      ws.terminate();
    };
    const fail = (error: Error): void => {
      signal?.removeEventListener("abort", abort);
      const sentence = `could not be reached: ${error.message}`;
      reject(refusal ?? connectionFailed(url, sentence, { cause: error }));
    };
    signal?.addEventListener("abort", abort, { once: true });
    ws.once("upgrade", (response) => {
      accepted = response;
    });
    ws.once("unexpected-response", (_, response) => {
      const { statusCode: status = 0 } = response;
      void errorIn(response).then((cause) => {
        const told = cause === undefined ? { status } : { status, cause };
        refusal = connectionFailed(url, `refused the upgrade with ${status}`, told);
        ws.terminate();
      });
    });
    ws.on("error", fail);
    ws.once("open", () => {
      signal?.removeEventListener("abort", abort);
      // The channel handles errors from here on.
      const { socket, headers } = accepted as IncomingMessage;
      const own = new NodeChannel(ws, socket, { side: "client", heartbeat: options });
      const channel = options.wrapChannel?.(own) ?? own;
      const transport = { kind: "websocket", headers, remoteAddress: socket.remoteAddress };
      const { tap } = options;
      const connection = new Connection(channel, { service, transport, limits, log, seal, tap });
      own.origin = connection.origin;
      resolve(connection);
      ws.off("error", fail);
    });
  });
}

/**
 * A link over a WebSocket; it connects with the first call.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { webSocketLink } from "callwire/ws";
 *
 * const client = createClient<typeof methods>(webSocketLink("ws://127.0.0.1:8000/rpc/ws"));
 * for await (const n of client.api.math.count({ to: 3 })) console.log(n);
 * ```
 */
export function webSocketLink(address: string | URL, options: NodeWebSocketLinkOptions = {}): Link {
  if (!isRelative(address)) webSocketUrl(address, options.baseUrl);
  const link = reconnectingWith((own) => connectWebSocket(address, own), options);
  return Object.assign(link, { address: `${address}` });
}

/** The JSON-RPC error with which a server refused; undefined if its response is something else. */
async function errorIn(response: IncomingMessage): Promise<Error | undefined> {
  if (!/^application\/json\b/i.test(response.headers["content-type"] ?? "")) return undefined;
  const late = systemClock.after(longestRefusalMs, () => response.destroy());
  try {
    const [reply] = [parseJson(await readText(response, longestRefusal))].flat();
    const error = replyOf(reply)?.error;
    return error && RemoteError.from(error);
  } catch {
    return undefined;
  } finally {
    late.cancel();
  }
}

function openSocket(
  Socket: typeof ClosingSocket,
  url: URL,
  request: UpgradeRequest,
  options: NodeWebSocketConnectOptions,
  maxBytes: number,
): ClosingSocket {
  const settings = {
    ...options.tls,
    ...receiverSettings(maxBytes, options.compress),
    headers: { ...request.headers },
    handshakeTimeout: Math.min(options.connectTimeoutMs ?? defaultConnectTimeoutMs, longestDelayMs),
  };
  try {
    return new Socket(url, [...request.protocols], settings);
  } catch (error) {
    throw connectionFailed(url, "cannot be reached", { cause: error });
  }
}
