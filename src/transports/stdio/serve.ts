/// <reference lib="esnext.disposable" preserve="true" />
import type { Readable, Writable } from "node:stream";
import { Connection } from "../../connection/connection.ts";
import type { Notices } from "../../connection/notices.ts";
import { StreamChannel } from "../../connection/stream-channel.ts";
import { type FramingChoice, framingOf } from "../../framing/named.ts";
import type { Service } from "../../protocol/service.ts";
import { guardStdout } from "./guard.ts";
import { ownStream } from "./own-stream.ts";

export interface ServeStdioOptions {
  /** Editors speak "content-length". @default newlineFraming */
  readonly framing?: FramingChoice;
  /** Where messages are read from. @default process.stdin */
  readonly input?: Readable;
  /** Where messages are written to. @default process.stdout */
  readonly output?: Writable;
  /** How long running calls may take to finish at the end of the input or when this closes. @default 10000 */
  readonly drainMs?: number;
  /** Names for cancelling and for progress, of a protocol that has its own. */
  readonly notices?: Notices;
}

export interface StdioServer extends AsyncDisposable {
  /** The one peer, to call it or to push to it. */
  readonly connection: Connection;
  /** Resolves when the wire has ended and the last reply is out; the process may exit then. */
  readonly closed: Promise<void>;
  /** Takes no more calls, lets what runs finish, then lets go of the streams. */
  close(): Promise<void>;
}

/**
 * Serves a service to the parent process. At the end of the input the running calls finish, and
 * then nothing keeps the process alive any more. While it serves, whatever else is written to
 * `process.stdout` goes to stderr, `console.log` included; only what is written to the file
 * descriptor itself cannot be caught.
 * @example
 * ```ts
 * import { serveStdio } from "callwire/stdio";
 *
 * const { closed } = serveStdio(server, { framing: "content-length" });
 * await closed; // the parent has closed our input, and the last reply is written
 * ```
 */
export function serveStdio(service: Service, options: ServeStdioOptions = {}): StdioServer {
  const { input = process.stdin, output = process.stdout, drainMs } = options;
  const { limits } = service;
  const framing = framingOf(options.framing);
  const stream = ownStream(input, output, () => {
    channel.endInput();
    void connection.finish({ drainMs, deaf: true });
  });
  const release = output === process.stdout ? guardStdout() : () => {};
  const channel = new StreamChannel(stream, {
    framing,
    maxMessageBytes: limits.maxMessageBytes,
    holdAboveBytes: limits.maxBufferedBytes / 4,
  });
  const connection = new Connection(channel, {
    service,
    transport: { kind: "stdio", headers: {}, remoteAddress: undefined },
    // The parent chose this process and cannot choose another one.
    maxStrikes: Number.POSITIVE_INFINITY,
    notices: options.notices,
  });
  const closed = connection.closed.then(() => release());
  const close = async (): Promise<void> => {
    // Where the service itself closes, it has waited before.
    await connection.finish({ drainMs: service.answerer.draining ? 0 : drainMs });
    await closed;
  };
  service.onClose(close);
  return { connection, closed, close, [Symbol.asyncDispose]: close };
}
