import type { CallContext, Context } from "../protocol/context.ts";
import {
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../protocol/message.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import { ConnectedClient } from "./connected-client.ts";
import type { LspServerHandlers } from "./handlers.ts";
import { applyInitialize, initializeParams, lifecycleError } from "./lifecycle.ts";
import { LspCall } from "./lsp-call.ts";
import type { ServerNotifications } from "./model/messages.ts";
import type {
  InitializeParams,
  InitializeResult,
  ServerCapabilities,
  ServerInfo,
} from "./model/structures.ts";
import { joined } from "./offered-capabilities.ts";
import { PushedDiagnostics } from "./pushed-diagnostics.ts";

/** A handler as it is looked up by the name of its method. */
type Operation = (params: never, call: LspCall<never>) => unknown;

export interface DispatcherSettings {
  readonly info: ServerInfo | undefined;
  readonly capabilities: ServerCapabilities;
  /** Handlers of methods outside of the protocol. */
  readonly methods: Readonly<Record<string, (params: unknown, call: LspCall) => unknown>>;
  readonly positionEncodings: readonly string[];
}

/** Gives each message of a client to its handler, if the lifecycle allows it. */
export class Dispatcher {
  /** Called with what a client sends with `initialize`. */
  onInitialize: ((params: InitializeParams) => void) | undefined = undefined;
  /** Called when a client sends `exit`, with the exit code that the protocol asks for. */
  onExit: ((code: number) => void) | undefined = undefined;
  readonly #handlers: LspServerHandlers;
  readonly #settings: DispatcherSettings;
  readonly #operations: ReadonlyMap<string, Operation>;

  constructor(handlers: LspServerHandlers, settings: DispatcherSettings) {
    this.#handlers = handlers;
    this.#settings = settings;
    this.#operations = new Map([
      ...(Object.entries(settings.methods) as [string, Operation][]),
      ...(Object.entries(handlers) as [string, Operation][]),
      ...this.#ownOperations(),
    ]);
  }

  handle(request: Request, context: Context): MaybePromise<Reply | undefined> {
    const { incoming } = context;
    if (incoming === undefined) throw new TypeError("a language server answers clients only");
    const client = clientOf(incoming);
    const { id, method } = request;
    const refusal = lifecycleError(client, method);
    const operation = this.#operations.get(method);
    if (refusal !== undefined || operation === undefined) {
      return id === undefined ? undefined : failure(refusal ?? methodNotFound);
    }
    const params = request.params ?? undefined;
    const call = new LspCall<never>(context, client, params);
    const result = operation(params as never, call);
    if (!isThenable(result)) return success(call.result(result));
    return result.then((value) => success(call.result(value)));
  }

  /** What the library does itself; a handler of the same name runs after it. */
  #ownOperations(): [string, Operation][] {
    const { initialized, shutdown } = this.#handlers;
    const isWatching = this.#handlers["workspace/didChangeConfiguration"] !== undefined;
    const pushed = this.#pushedDiagnostics();
    const then = <Method extends keyof ServerNotifications>(
      method: Method,
      run: (params: ServerNotifications[Method]["params"], call: LspCall<never>) => void,
    ): [string, Operation] => {
      const own = (this.#handlers as Readonly<Record<string, Operation>>)[method];
      return [
        method,
        (params, call) => {
          run(params, call);
          return own?.(params, call);
        },
      ];
    };
    return [
      ["initialize", (params, call) => this.#initialize(initializeParams(params), call)],
      [
        "initialized",
        (params, call) => {
          if (isWatching) call.client.configuration.watch();
          return initialized?.(params, call);
        },
      ],
      [
        "shutdown",
        (_, call) => {
          call.client.state = "shutdown";
          return shutdown?.(undefined, call);
        },
      ],
      ["exit", (_, call) => this.#exit(call)],
      then("$/setTrace", ({ value }, { client }) => {
        client.trace = value;
      }),
      then("window/workDoneProgress/cancel", (params, { client }) => client.cancelProgress(params)),
      then("workspace/didChangeConfiguration", ({ settings }, { client }) =>
        client.configuration.changed(settings),
      ),
      then("textDocument/didOpen", (params, call) => {
        call.documents.open(params);
        pushed(call)?.changed(params.textDocument.uri, call);
      }),
      then("textDocument/didChange", (params, call) => {
        if (call.documents.change(params)) pushed(call)?.changed(params.textDocument.uri, call);
      }),
      then("textDocument/didClose", (params, call) => {
        call.documents.close(params);
        pushed(call)?.closed(params.textDocument.uri, call);
      }),
    ];
  }

  #initialize(params: InitializeParams, call: LspCall): MaybePromise<InitializeResult> {
    const { client } = call;
    const { info, positionEncodings } = this.#settings;
    client.state = "initializing";
    applyInitialize(client, params, positionEncodings);
    const finish = (own: Partial<InitializeResult> | void): InitializeResult => {
      client.state = "running";
      this.onInitialize?.(params);
      const { capabilities, ...rest } = own ?? {};
      const all = joined(this.#settings.capabilities as never, (capabilities ?? {}) as never);
      return {
        capabilities: { positionEncoding: client.encoding.kind, ...all },
        ...(info !== undefined && { serverInfo: info }),
        ...rest,
      };
    };
    const failed = (thrown: unknown): never => {
      client.state = "new";
      throw thrown;
    };
    try {
      const own = this.#handlers.initialize?.(params, call);
      return isThenable(own) ? own.then(finish, failed) : finish(own);
    } catch (thrown) {
      return failed(thrown);
    }
  }

  #exit({ client, peer }: LspCall): void {
    if (this.onExit === undefined) void peer.close();
    else this.onExit(client.exitCode);
  }

  /** For clients that do not request diagnostics themselves. */
  #pushedDiagnostics(): (call: LspCall) => PushedDiagnostics | undefined {
    const handler = this.#handlers["textDocument/diagnostic"];
    const byClient = new WeakMap<ConnectedClient, PushedDiagnostics>();
    return ({ client }) => {
      if (handler === undefined || client.capabilities.textDocument?.diagnostic !== undefined) {
        return undefined;
      }
      const pushed = byClient.get(client) ?? new PushedDiagnostics(handler);
      byClient.set(client, pushed);
      return pushed;
    };
  }
}

/** One for each connection. */
function clientOf({ origin }: CallContext): ConnectedClient {
  if (origin.session instanceof ConnectedClient) return origin.session;
  const client = new ConnectedClient(origin.peer);
  origin.session = client;
  return client;
}
