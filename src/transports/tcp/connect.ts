import { connect, type Socket } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { Connection } from "../../connection/connection.ts";
import { type ConnectingOptions, maxIncomingBytes } from "../../connection/connection-options.ts";
import type { HeartbeatOptions } from "../../connection/heartbeat.ts";
import { StreamChannel } from "../../connection/stream-channel.ts";
import { type FramingChoice, framingOf } from "../../framing/framing-choice.ts";
import { systemClock } from "../../protocol/clock.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import { defaultConnectTimeoutMs, defaultMinTlsVersion } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import { limitsFrom } from "../../protocol/limits.ts";
import { closeWhenDead } from "./idle.ts";
import { socketStream } from "./socket-stream.ts";

export interface ConnectOptions extends ConnectingOptions, HeartbeatOptions {
  /** The host of `port`. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** The port to connect to; either this or `path` is needed. @default none */
  readonly port?: number | undefined;
  /** A unix socket or a Windows named pipe, instead of a host and a port. */
  readonly path?: string | undefined;
  /** True, or options of Node's `tls.connect`, such as `ca`; uses TLS 1.2 or later. @default false */
  readonly tls?: boolean | TlsOptions | undefined;
  /** The framing of the server. @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
  /** How long connecting may take. @default 10000 */
  readonly connectTimeoutMs?: number | undefined;
  /** Aborts connecting. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Connects to a port or a path; rejects with `CONNECTION_FAILED`.
 * @example
 * ```ts
 * import { connectSocket } from "callwire/tcp";
 *
 * const connection = await connectSocket({ host: "10.0.0.7", port: 9000, tls: true });
 * console.log(await connection.call("math/add", { a: 2, b: 3 }));
 * connection.close();
 * ```
 */
export async function connectSocket(options: ConnectOptions): Promise<Connection> {
  mustHaveOneTarget(options);
  const { path, tls, service } = options;
  const framing = framingOf(options.framing);
  const limits = limitsFrom({ ...service?.limits, ...options.limits });
  const socket = await connected(options);
  const own = new StreamChannel(socketStream(socket), {
    framing,
    maxMessageBytes: maxIncomingBytes(limits),
    // Gathers the calls of everything read in this turn, for example on the sockets of a gateway.
    defer: setImmediate,
    cutOversize: true,
  });
  const channel = options.wrapChannel?.(own) ?? own;
  const connection = new Connection(channel, {
    service,
    limits,
    log: options.log ?? service?.log ?? consoleLog,
    seal: options.seal,
    tap: options.tap,
    transport: {
      kind: path !== undefined ? "unix" : tls ? "tls" : "tcp",
      headers: {},
      remoteAddress: socket.remoteAddress,
    },
  });
  closeWhenDead(socket, connection, options);
  return connection;
}

export function mustHaveOneTarget({ path, port }: Pick<ConnectOptions, "path" | "port">): void {
  if (path === "" || (path === undefined) === (port === undefined)) {
    throw new TypeError("a socket needs either a port or a path");
  }
}

async function connected(options: ConnectOptions): Promise<Socket> {
  const {
    path,
    host = "127.0.0.1",
    port,
    tls,
    signal,
    connectTimeoutMs = defaultConnectTimeoutMs,
  } = options;
  const where = path === undefined ? { host, port: port as number } : { path };
  const name =
    path ?? `${tls ? "tls" : "tcp"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  // Loading it takes as long as the rest of a small program, such as a language server.
  const secure = tls ? await import("node:tls") : undefined;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const socket =
      secure?.connect({
        minVersion: defaultMinTlsVersion,
        ...where,
        ...(tls === true ? {} : tls),
      }) ?? connect(where);
    const settle = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
      socket.off("error", fail);
    };
    const abort = (): void => {
      settle();
      socket.destroy();
      reject(signal?.reason);
    };
    const fail = (error: NodeJS.ErrnoException): void => {
      settle();
      socket.destroy();
      // If every one of several addresses refused, the error that holds them has no message.
      const reason = error.message === "" ? error.code : error.message;
      reject(
        new WireError("CONNECTION_FAILED", `cannot connect to ${name}: ${reason}`, {
          cause: error,
        }),
      );
    };
    const late = (): void => fail(new Error(`timed out after ${connectTimeoutMs / 1000} s`));
    const timer = systemClock.after(connectTimeoutMs, late, true);
    signal?.addEventListener("abort", abort);
    socket.on("error", fail);
    socket.once(tls ? "secureConnect" : "connect", () => {
      settle();
      resolve(socket);
    });
  });
}
