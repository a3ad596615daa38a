import type { ChildProcess } from "node:child_process";
import type { Channel } from "../connection/channel.ts";
import { Connection } from "../connection/connection.ts";
import { WireError } from "../protocol/errors.ts";
import type { Service } from "../protocol/service.ts";
import type { ProcessOptions } from "../transports/stdio/connect.ts";
import type { ConnectOptions } from "../transports/tcp/connect.ts";
import { IpcChannel, type IpcProcess } from "./ipc-channel.ts";

/** A way to a language server. It does not reconnect, because a new server would not know the open documents. */
export interface LspLink {
  /** Connects; the service answers the requests of the server. */
  open(service: Service): Promise<Connection>;
}

export interface LspStdioLinkOptions
  extends Omit<ProcessOptions, "framing" | "service" | "notices" | "limits" | "log"> {}

export interface LspSocketLinkOptions
  extends Omit<
    ConnectOptions,
    "framing" | "service" | "limits" | "log" | "pingMs" | "deadMs" | "clock"
  > {}

/**
 * A language server as a child process, on its standard input and output. It ends with the client.
 * @example
 * ```ts
 * import { lspClient, lspStdioLink } from "callwire/lsp";
 *
 * const link = lspStdioLink("typescript-language-server", ["--stdio"]);
 * const client = await lspClient(link, {}, { initialize: { rootUri: "file:///home/me/project" } });
 * await client.close();
 * ```
 */
export function lspStdioLink(
  command: string,
  args: readonly string[] = [],
  options: LspStdioLinkOptions = {},
): LspLink {
  return {
    async open(service) {
      const { spawnConnection } = await import("../transports/stdio/connect.ts");
      return spawnConnection(command, args, { ...options, framing: "content-length", service });
    },
  };
}

/**
 * A language server that listens on a port or a path.
 * @example
 * ```ts
 * import { lspClient, lspSocketLink } from "callwire/lsp";
 *
 * const client = await lspClient(lspSocketLink({ port: 6008 }));
 * console.log(client.server.serverInfo?.name);
 * ```
 */
export function lspSocketLink(options: LspSocketLinkOptions): LspLink {
  return {
    async open(service) {
      const { connectSocket } = await import("../transports/tcp/connect.ts");
      // Language servers do not answer pings.
      const pingMs = Number.POSITIVE_INFINITY;
      return connectSocket({ ...options, framing: "content-length", service, pingMs });
    },
  };
}

/**
 * A language server as a module of Node, over Node's IPC. It is started with `--node-ipc` and ends with the client.
 * @example
 * ```ts
 * import { lspClient, lspIpcLink } from "callwire/lsp";
 *
 * const client = await lspClient(lspIpcLink("./server.js"));
 * await client.close();
 * ```
 */
export function lspIpcLink(module: string | URL, args: readonly string[] = []): LspLink {
  return {
    async open(service) {
      const { fork } = await import("node:child_process");
      const child = await started(fork(module, ["--node-ipc", ...args]));
      const connection = connectionOver(new IpcChannel(child as IpcProcess), service, "ipc");
      void connection.closed.then(() => endLater(child));
      return connection;
    },
  };
}

/**
 * A language server at the other side of a channel, such as one of `memoryChannels()` in a test.
 * @example
 * ```ts
 * import { Connection, memoryChannels } from "callwire/connection";
 * import { lspChannelLink, lspClient, lspServer } from "callwire/lsp";
 *
 * const [near, far] = memoryChannels();
 * const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
 * new Connection(far, { service: lspServer({}), transport });
 * const client = await lspClient(lspChannelLink(near));
 * ```
 */
export function lspChannelLink(channel: Channel): LspLink {
  return { open: async (service) => connectionOver(channel, service, "channel") };
}

function connectionOver(channel: Channel, service: Service, kind: string): Connection {
  return new Connection(channel, {
    service,
    transport: { kind, headers: {}, remoteAddress: undefined },
    // A line that a library prints is not a reason to stop the server.
    maxStrikes: Number.POSITIVE_INFINITY,
  });
}

/** How long a server may take to exit after the connection is closed. */
const exitMs = 2_000;

function endLater(child: ChildProcess): void {
  const timer = setTimeout(() => child.kill(), exitMs);
  timer.unref();
  child.once("exit", () => clearTimeout(timer));
}

function started(child: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve(child));
    child.once("error", (error) => {
      const sentence = `cannot start the language server: ${error.message}`;
      reject(new WireError("CONNECTION_FAILED", sentence, { cause: error }));
    });
  });
}
