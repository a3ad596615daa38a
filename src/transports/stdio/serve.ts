/// <reference lib="esnext.disposable" preserve="true" />
import type { Readable, Writable } from "node:stream";
import { Connection } from "../../connection/connection.ts";
import type { Notices } from "../../connection/notices.ts";
import { StreamChannel } from "../../connection/stream-channel.ts";
import { type FramingChoice, framingOf } from "../../framing/framing-choice.ts";
import type { Service } from "../../protocol/service.ts";
import { guardStdout, ownStream } from "./own-stream.ts";

export interface ServeStdioOptions {
  /** How messages are separated; editors use "content-length". @default newlineFraming */
  readonly framing?: FramingChoice;
  /** Where messages come from. @default process.stdin */
  readonly input?: Readable;
  /** Where messages go. @default process.stdout */
  readonly output?: Writable;
  /** How long running calls may take at the end of the input or on close until they are cancelled. @default 10000 */
  readonly drainMs?: number;
  /** Notifications for cancelling and progress, of a protocol with its own. */
  readonly notices?: Notices;
}

export interface StdioServer extends AsyncDisposable {
  /** The connection to the parent, to call it or to push to it. */
  readonly connection: Connection;
  /** Resolves when the streams have ended and the last reply is sent; the process may exit then. */
  readonly closed: Promise<void>;
  /** Refuses new calls, lets running ones finish, cancels the rest, then releases the streams. */
  close(): Promise<void>;
}

/**
 * Serves a service to the parent process. At the end of the input running calls have `drainMs` to finish, the rest
 * are answered with -32006, and then nothing here keeps the process alive. While it serves, everything else written to `process.stdout`, including `console.log`, goes to
 * stderr; only direct writes to the file descriptor cannot be redirected.
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
    // If the service itself closes, it has drained already.
    await connection.finish({ drainMs: service.answerer.draining ? 0 : drainMs });
    await closed;
  };
  service.onClose(close);
  return { connection, closed, close, [Symbol.asyncDispose]: close };
}
