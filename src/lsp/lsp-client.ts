/// <reference lib="esnext.disposable" preserve="true" />

import { type Client, createClient } from "../client/client.ts";
import type { Connection } from "../connection/connection.ts";
import { compose, type Middleware } from "../protocol/handle.ts";
import { Host } from "../protocol/host.ts";
import type { Log } from "../protocol/log.ts";
import type { Params } from "../protocol/message.ts";
import type { CallArguments } from "./call-arguments.ts";
import type { LspLink } from "./client-links.ts";
import { ClientSide, type ProgressListener } from "./client-side.ts";
import type { LspClientHandlers } from "./handlers.ts";
import { lspLimits, lspProfile } from "./limits.ts";
import type { WorkDoneProgress } from "./lsp-call.ts";
import { memberAt } from "./member-path.ts";
import { serverCapabilities } from "./model/capabilities.ts";
import type { ServerNotifications, ServerRequests } from "./model/messages.ts";
import type { InitializeParams, InitializeResult } from "./model/structures.ts";
import { isOfferedBy, joined, supportedCapabilities } from "./offered-capabilities.ts";
import { RequestEvents } from "./request-events.ts";

/** How long a server may take to answer `shutdown` before the connection is closed without it. */
const shutdownMs = 5_000;

export interface LspClientOptions {
  /** Params of `initialize`: folders, capabilities, the name of the client. @default what the handlers imply */
  readonly initialize?: Partial<InitializeParams>;
  /** Called with the progress of work that the server began by itself, such as indexing. @default not shown */
  readonly onProgress?: ProgressListener;
  /** Wraps what the server asks of the client, such as `validateParams("client")`. @default none */
  readonly use?: readonly Middleware[];
  /** How long a request may take; `Infinity` means no limit. @default 60000 */
  readonly timeoutMs?: number;
  /** Where failures of handlers are logged. @default warnings and errors to the console */
  readonly log?: Log;
}

export interface LspRequestOptions {
  /** Cancels the request, also at the server. @default never */
  readonly signal?: AbortSignal;
}

/** What a server sends before a result: parts of it, or how far the work is. */
export type LspEvent<Partial> =
  | { readonly kind: "partial"; readonly value: Partial }
  | { readonly kind: "progress"; readonly value: WorkDoneProgress };

/** A client of a language server that is initialized. */
export class LspClient implements AsyncDisposable {
  /** The server's reply to `initialize`: its capabilities, name and version. */
  readonly server: InitializeResult;
  /** Resolves when the connection is closed, with the error if it broke. */
  readonly closed: Promise<Error | undefined>;
  readonly #connection: Connection;
  readonly #calls: Client;
  readonly #own: ClientSide;
  #tokens = 0;

  constructor(connection: Connection, calls: Client, own: ClientSide, server: InitializeResult) {
    this.server = server;
    this.closed = connection.closed;
    this.#connection = connection;
    this.#calls = calls;
    this.#own = own;
  }

  /** Whether the server implements a method, from the start or since it registered it. */
  offers(method: keyof ServerRequests | keyof ServerNotifications): boolean {
    const path = serverCapabilities[method];
    if (path !== undefined && memberAt(this.server.capabilities, path)) return true;
    return [...this.#own.registrations.values()].some((each) => isOfferedBy(each, method));
  }

  /** Sends a request, typed by its method. */
  request<Method extends keyof ServerRequests>(
    method: Method,
    ...[params, options]: CallArguments<ServerRequests[Method]["params"], LspRequestOptions>
  ): Promise<ServerRequests[Method]["result"]> {
    return this.#calls.call(
      method as string,
      params as unknown as Params,
      options,
    ) as Promise<never>;
  }

  /** Sends a request and reads what comes before its result: partial results and progress. */
  stream<Method extends keyof ServerRequests>(
    method: Method,
    params: ServerRequests[Method]["params"],
    { signal }: LspRequestOptions = {},
  ): RequestEvents<LspEvent<ServerRequests[Method]["partial"]>, ServerRequests[Method]["result"]> {
    type Event = LspEvent<ServerRequests[Method]["partial"]>;
    const cancel = new AbortController();
    const token = `callwire-${++this.#tokens}`;
    const tokens = { workDoneToken: `${token}-progress`, partialResultToken: `${token}-partial` };
    const receive = (value: unknown): void => events.push({ kind: "partial", value } as Event);
    this.#own.receivers.set(tokens.partialResultToken, receive);
    const result = this.#calls.call(
      method as string,
      { ...(params as object), ...tokens },
      {
        signal: signal === undefined ? cancel.signal : AbortSignal.any([signal, cancel.signal]),
        onProgress: (value) => events.push({ kind: "progress", value } as Event),
      },
    ) as Promise<ServerRequests[Method]["result"]>;
    const forget = (): void => void this.#own.receivers.delete(tokens.partialResultToken);
    result.then(forget, forget);
    const events = new RequestEvents<Event, ServerRequests[Method]["result"]>(result, (reason) =>
      cancel.abort(reason),
    );
    return events;
  }

  /** Sends a notification, typed by its method; false if the connection is closed. */
  notify<Method extends keyof ServerNotifications>(
    method: Method,
    ...[params]: CallArguments<ServerNotifications[Method]["params"], never>
  ): boolean {
    return this.#connection.notify(method, params as Params);
  }

  /** Shuts the server down and disconnects; a child process ends. */
  async close(): Promise<void> {
    if (!this.#connection.isOpen) return;
    // A server that does not answer is disconnected anyway.
    await this.#connection.call("shutdown", undefined, { timeoutMs: shutdownMs }).catch(() => {});
    this.#connection.notify("exit");
    await this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Connects to a language server and initializes it. The handlers answer the requests of the server, and the client's
 * capabilities are derived from them.
 * @example
 * ```ts
 * import { lspClient, lspStdioLink } from "callwire/lsp";
 *
 * await using client = await lspClient(lspStdioLink("pylsp"), {
 *   "textDocument/publishDiagnostics": ({ uri, diagnostics }) => console.log(uri, diagnostics.length),
 * });
 * client.notify("textDocument/didOpen", {
 *   textDocument: { uri: "file:///a.py", languageId: "python", version: 1, text: "import os\n" },
 * });
 * const at = { textDocument: { uri: "file:///a.py" }, position: { line: 0, character: 8 } };
 * console.log(await client.request("textDocument/hover", at));
 * ```
 */
export async function lspClient(
  link: LspLink,
  handlers: LspClientHandlers = {},
  options: LspClientOptions = {},
): Promise<LspClient> {
  const { use = [], log, onProgress, timeoutMs } = options;
  const own = new ClientSide(handlers, onProgress);
  const host = new Host(
    compose(use, (request, context) => own.handle(request, context)),
    {
      nullParams: "omit",
      overload: false,
      timeoutMs: Number.POSITIVE_INFINITY,
      limits: lspLimits,
      profile: lspProfile,
      ...(log !== undefined && { log }),
    },
    use,
  );
  const connection = await link.open(host);
  const calls = createClient(connection, {
    use: [namedIds],
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(log !== undefined && { log }),
  });
  try {
    const params = initialParams(handlers, options);
    const server = (await calls.call("initialize", { ...params })) as InitializeResult;
    connection.notify("initialized", {});
    return new LspClient(connection, calls, own, server);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Servers choose tokens of progress themselves, often small numbers, which must not be the id of a call. */
const namedIds: Middleware = (next) => (request, context) =>
  next(request.id === undefined ? request : { ...request, id: `callwire-${request.id}` }, context);

function initialParams(
  handlers: LspClientHandlers,
  { initialize = {}, onProgress }: LspClientOptions,
): InitializeParams {
  const derived = supportedCapabilities(Object.keys(handlers), onProgress !== undefined);
  return {
    processId: process.pid,
    rootUri: null,
    ...initialize,
    capabilities: joined(derived, (initialize.capabilities ?? {}) as never),
  };
}
