import { compose, type Middleware } from "../protocol/handle.ts";
import { Host, type HostOptions } from "../protocol/host.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { LspServerHandlers } from "./handlers.ts";
import { lspLimits, lspProfile } from "./limits.ts";
import type { LspCall } from "./lsp-call.ts";
import { serverMethods } from "./model/capabilities.ts";
import type { ServerCapabilities, ServerInfo } from "./model/structures.ts";
import { mustBeComplete, offeredCapabilities } from "./offered-capabilities.ts";
import { positionEncodings } from "./position-encoding.ts";

export interface LspServerOptions
  extends Omit<HostOptions, "versions" | "nullParams" | "profile" | "overload"> {
  /** Name and version, which clients show. @default none */
  readonly info?: ServerInfo;
  /** More about what the server can do, such as trigger characters; the rest is derived from the handlers. @default none */
  readonly capabilities?: ServerCapabilities;
  /** Handlers of methods outside of the protocol. @default none */
  readonly methods?: Readonly<Record<string, (params: unknown, call: LspCall) => unknown>>;
  /**
   * How positions are counted, the best first; the first that the client supports is used, or else "utf-16".
   * @default ["utf-16"]
   */
  readonly positionEncodings?: readonly ("utf-8" | "utf-16" | "utf-32")[];
  /** Wraps every request and notification, such as `validateParams("server")`. @default none */
  readonly use?: readonly Middleware[];
  /** Longest run of a request. @default Infinity, because clients cancel what takes too long */
  readonly timeoutMs?: number;
}

/** A language server: handlers with the lifecycle, the documents and the capabilities of the protocol. */
export class LspServer extends Host {
  /** What the server reports to clients; the handler of `initialize` may add to it. */
  readonly capabilities: ServerCapabilities;
  /** Internal. */
  readonly dispatcher: Dispatcher;

  constructor(handlers: LspServerHandlers, options: LspServerOptions = {}) {
    const { use = [], info, methods = {} } = options;
    const names = Object.keys(handlers);
    mustBeInProtocol(names);
    const capabilities = offeredCapabilities(names, options.capabilities);
    if (handlers.initialize === undefined) mustBeComplete(capabilities, names);
    const dispatcher = new Dispatcher(handlers, {
      info,
      capabilities,
      methods,
      positionEncodings: checkedEncodings(options.positionEncodings),
    });
    super(
      compose(use, (request, context) => dispatcher.handle(request, context)),
      {
        ...options,
        nullParams: "omit",
        // The only caller is the editor, and no other server could answer its calls.
        overload: false,
        timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY,
        limits: { ...lspLimits, ...options.limits },
        profile: lspProfile,
      },
      use,
    );
    this.capabilities = capabilities;
    this.dispatcher = dispatcher;
  }
}

/**
 * Creates a language server from handlers, which are typed by the names of their methods. `serveLsp` connects it to
 * an editor.
 * @example
 * ```ts
 * import { lspServer, serveLsp } from "callwire/lsp";
 *
 * const server = lspServer({
 *   "textDocument/hover": ({ textDocument, position }, { documents }) => {
 *     const line = documents.get(textDocument.uri)?.lineAt(position.line);
 *     return line === undefined ? null : { contents: `This line has ${line.length} characters.` };
 *   },
 * });
 * await serveLsp(server);
 * ```
 */
export function lspServer(handlers: LspServerHandlers, options?: LspServerOptions): LspServer {
  return new LspServer(handlers, options);
}

/** Rejects misspelt names, which no client would call. */
function mustBeInProtocol(names: readonly string[]): void {
  const unknown = names.find((name) => !serverMethods.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(
    `"${unknown}" is not a method of LSP; handlers of other methods belong in the option \`methods\``,
  );
}

function checkedEncodings(names: readonly string[] = ["utf-16"]): readonly string[] {
  const unknown = names.find((name) => !Object.hasOwn(positionEncodings, name));
  if (unknown === undefined) return names;
  throw new TypeError(
    `positionEncodings must be "utf-8", "utf-16" or "utf-32", not ${JSON.stringify(unknown)}`,
  );
}
