import { Connection } from "../../connection/connection.ts";
import { systemClock } from "../../protocol/clock.ts";
import { defaultConnectTimeoutMs } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Link } from "../../protocol/link.ts";
import { connectionFailed } from "./address.ts";
import {
  clientLimits,
  reconnectingWith,
  type UpgradeRequest,
  upgradeRequest,
  type WebSocketConnectOptions,
  type WebSocketLinkOptions,
} from "./link-options.ts";
import { SocketChannel } from "./socket-channel.ts";

/** Connects over the platform's WebSocket; apart, because pages load it when they connect. */
export async function openNative(url: URL, options: WebSocketConnectOptions): Promise<Connection> {
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
    const sendBytes = (frame: Uint8Array): void => socket.send(frame as Uint8Array<ArrayBuffer>);
    const channel = new SocketChannel(socket, limits, { clock, sendBytes });
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
      reject(connectionFailed(url, `could not be reached (${code})`));
    };
  });
}

/** A link that connects with its first call. */
export function nativeLink(url: URL, options: WebSocketLinkOptions): Link {
  return reconnectingWith((own) => openNative(url, own), options);
}

function openSocket(url: URL, request: UpgradeRequest): WebSocket {
  const protocols = [...request.protocols];
  const { headers } = request;
  if (headers === undefined) {
    try {
      return new WebSocket(url, protocols);
    } catch (error) {
      throw connectionFailed(url, "cannot be reached", { cause: error });
    }
  }
  try {
    // Deno and Bun accept an object here; others treat it as the name of a subprotocol and throw.
    return new WebSocket(url, { headers, protocols } as unknown as string[]);
  } catch (error) {
    throw headersUnsupported(error);
  }
}

function headersUnsupported(cause: unknown): WireError {
  const sentence = "the WebSocket of this platform cannot send headers";
  return new WireError("UNSUPPORTED", sentence, { cause });
}
