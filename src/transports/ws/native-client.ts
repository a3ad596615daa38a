import { Connection } from "../../connection/connection.ts";
import { systemClock } from "../../protocol/clock.ts";
import { defaultConnectTimeoutMs } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Link } from "../../protocol/link.ts";
import { isRelative } from "../../protocol/url.ts";
import {
  clientLimits,
  connectionFailed,
  reconnectingWith,
  type UpgradeRequest,
  upgradeRequest,
  type WebSocketConnectOptions,
  type WebSocketLinkOptions,
  webSocketUrl,
} from "./link-options.ts";
import { SocketChannel } from "./socket-channel.ts";

/**
 * Resolves when the connection is open. Browsers do not say why connecting failed, and cannot ping, so only the
 * server detects a dead connection.
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
  options: WebSocketConnectOptions = {},
): Promise<Connection> {
  const url = webSocketUrl(address, options.baseUrl);
  const { connectTimeoutMs = defaultConnectTimeoutMs, clock = systemClock, signal } = options;
  const limits = clientLimits(options);
  const request = await upgradeRequest(options);
  signal?.throwIfAborted();
  const socket = openSocket(url, request);
  // The default is a Blob, whose content cannot be read synchronously.
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      settled();
      reject(error);
      socket.close();
    };
    const abort = (): void => fail(signal?.reason);
    const timer = clock.after(connectTimeoutMs, () =>
      fail(connectionFailed(url, `did not answer within ${connectTimeoutMs} ms`)),
    );
    const settled = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    };
    const channel = new SocketChannel(socket, limits, { clock });
    signal?.addEventListener("abort", abort, { once: true });
    socket.onopen = () => {
      settled();
      const transport = { kind: "websocket", headers: {}, remoteAddress: undefined };
      const { service, log, seal, tap } = options;
      const own = options.wrapChannel?.(channel) ?? channel;
      resolve(new Connection(own, { service, transport, limits, log, seal, tap }));
    };
    socket.onmessage = ({ data }) => channel.receive(data);
    socket.onclose = ({ code, reason }) => {
      settled();
      channel.closed(code, reason);
      reject(connectionFailed(url, `could not be connected to (${code})`));
    };
  });
}

/**
 * A link over the platform's WebSocket; it connects with the first call.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { webSocketLink } from "callwire/ws";
 *
 * const client = createClient<typeof methods>(webSocketLink("ws://127.0.0.1:8000/rpc/ws"));
 * for await (const n of client.api.math.count({ to: 3 })) console.log(n);
 * ```
 */
export function webSocketLink(address: string | URL, options: WebSocketLinkOptions = {}): Link {
  if (!isRelative(address)) webSocketUrl(address, options.baseUrl);
  return reconnectingWith((own) => connectWebSocket(address, own), options);
}

function openSocket(url: URL, request: UpgradeRequest): WebSocket {
  const protocols = [...request.protocols];
  const { headers } = request;
  if (headers === undefined) {
    try {
      return new WebSocket(url, protocols);
    } catch (error) {
      throw connectionFailed(url, "cannot be connected to", { cause: error });
    }
  }
  try {
    // Deno and Bun accept an object here; others take it for the name of a subprotocol and throw.
    return new WebSocket(url, { headers, protocols } as unknown as string[]);
  } catch (error) {
    throw headersUnsupported(error);
  }
}

function headersUnsupported(cause: unknown): WireError {
  const sentence = "the WebSocket of this platform cannot send headers";
  return new WireError("UNSUPPORTED", sentence, { cause });
}
