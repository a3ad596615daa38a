import { Connection } from "../connection/connection.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import { serveStdio } from "../transports/stdio/serve.ts";
import { ConnectedClient } from "./connected-client.ts";
import { type LspFlags, lspFlags } from "./flags.ts";
import { IpcChannel, type IpcProcess } from "./ipc-channel.ts";
import type { LspServer } from "./lsp-server.ts";
import { watchProcess } from "./parent-process.ts";

export interface ServeLspOptions {
  /** The command line, which says how the editor connects. @default process.argv.slice(2) */
  readonly args?: readonly string[];
  /**
   * Ends the process when the editor is done or has died: 0 after `shutdown`, otherwise 1. A server that stayed would hold
   * memory for an editor that is closed. @default process.exit
   */
  readonly exit?: (code: number) => void;
  /** Measures when to check whether the process of the editor still runs; for tests. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Connects a language server to the editor that started the process, over the wire that its command line names:
 * standard input and output, a socket, a pipe or Node's IPC. Resolves when connected. Ends the process when the editor
 * sends `exit`, closes the connection, or dies.
 * @example
 * ```ts
 * import { lspServer, serveLsp } from "callwire/lsp";
 *
 * await serveLsp(lspServer({ "textDocument/hover": () => ({ contents: "Hello" }) }));
 * ```
 */
export async function serveLsp(
  server: LspServer,
  options: ServeLspOptions = {},
): Promise<Connection> {
  const { exit = process.exit, clock = systemClock } = options;
  const { wire, clientProcessId } = lspFlags(options.args ?? process.argv.slice(2));
  let unwatch: (() => void) | undefined;
  let isOver = false;
  const finish = (code: number): void => {
    if (isOver) return;
    isOver = true;
    unwatch?.();
    // Closing sends what is queued, such as the reply to `shutdown`.
    void connection.close().then(() => exit(code));
  };
  const watch = (processId: number | null | undefined): void => {
    if (typeof processId !== "number") return;
    unwatch?.();
    unwatch = watchProcess(processId, () => finish(1), clock);
  };
  server.dispatcher.onExit = finish;
  server.dispatcher.onInitialize = ({ processId }) => watch(processId);
  const connection = await connected(server, wire);
  watch(clientProcessId);
  void connection.closed.then(() => {
    const { session } = connection.origin;
    finish(session instanceof ConnectedClient ? session.exitCode : 1);
  });
  return connection;
}

/** Only the wire that is used is loaded, because a language server should start at once. */
async function connected(server: LspServer, wire: LspFlags["wire"]): Promise<Connection> {
  if (wire.kind === "stdio") return serveStdio(server, { framing: "content-length" }).connection;
  if (wire.kind === "ipc") {
    if (process.send === undefined)
      throw new TypeError("--node-ipc needs a parent with an IPC channel");
    return new Connection(new IpcChannel(process as IpcProcess), {
      service: server,
      transport: { kind: "ipc", headers: {}, remoteAddress: undefined },
      maxStrikes: Number.POSITIVE_INFINITY,
    });
  }
  const { connectSocket } = await import("../transports/tcp/connect.ts");
  const target = wire.kind === "socket" ? { port: wire.port } : { path: wire.path };
  // Editors do not answer pings.
  const pingMs = Number.POSITIVE_INFINITY;
  return connectSocket({ ...target, framing: "content-length", service: server, pingMs });
}
