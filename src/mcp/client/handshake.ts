import { isRpcError, RemoteError, WireError } from "../../protocol/errors.ts";
import type { Params } from "../../protocol/message.ts";
import { badReply } from "../../protocol/pair.ts";
import type {
  ClientCapabilities,
  Implementation,
  LogLevel,
  ServerCapabilities,
} from "../capabilities.ts";
import { McpErrorCode } from "../errors.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import type { DiscoverResult, InitializeResult } from "../results.ts";
import {
  isLegacy,
  isModern,
  type LegacyRevision,
  latestLegacy,
  latestModern,
  type ModernRevision,
  modernRevisions,
} from "../revisions.ts";
import type { Answering } from "./input.ts";

/** What the client declares about itself. */
export class ClientDeclaration {
  readonly info: Implementation;
  readonly #capabilities: ClientCapabilities;
  readonly #tasks: object | undefined;
  #logLevel: LogLevel | undefined;
  /** It is the same for all requests. */
  #envelope: Readonly<Record<string, unknown>> | undefined;

  constructor(
    info: Implementation,
    { capabilities, taskCapability }: Pick<Answering, "capabilities" | "taskCapability">,
    logLevel: LogLevel | undefined,
  ) {
    this.info = info;
    this.#capabilities = capabilities;
    this.#tasks = taskCapability;
    this.#logLevel = logLevel;
  }

  /** Least severe level of log messages to receive; without one, modern servers send none. */
  get logLevel(): LogLevel | undefined {
    return this.#logLevel;
  }

  set logLevel(level: LogLevel | undefined) {
    this.#logLevel = level;
    this.#envelope = undefined;
  }

  /** The capabilities for `initialize`. */
  get legacyCapabilities(): ClientCapabilities {
    const { roots, ...others } = this.#capabilities;
    return {
      ...others,
      ...(roots !== undefined && { roots: { ...roots, listChanged: true } }),
      ...(this.#tasks !== undefined && { tasks: this.#tasks }),
    };
  }

  /** What each modern request carries in its `_meta`. */
  envelope(revision: ModernRevision): Readonly<Record<string, unknown>> {
    if (this.#envelope?.[MetaKey.ProtocolVersion] === revision) return this.#envelope;
    const { extensions } = this.#capabilities;
    this.#envelope = {
      [MetaKey.ProtocolVersion]: revision,
      [MetaKey.ClientInfo]: this.info,
      [MetaKey.ClientCapabilities]: {
        ...this.#capabilities,
        extensions: { ...extensions, [tasksExtension]: {} },
      },
      ...(this.logLevel !== undefined && { [MetaKey.LogLevel]: this.logLevel }),
    };
    return this.#envelope;
  }
}

/** The negotiated revision, and how the server described itself. */
export type ServerDescription = (
  | { readonly era: "modern"; readonly revision: ModernRevision }
  | { readonly era: "legacy"; readonly revision: LegacyRevision }
) & {
  readonly capabilities: ServerCapabilities;
  readonly info: Implementation | undefined;
  /** How a model should use the server. */
  readonly instructions: string | undefined;
};

/** The side of a connection that a handshake needs. */
export interface HandshakePeer {
  call(method: string, params?: Params, options?: { timeoutMs?: number }): Promise<unknown>;
  notify(method: string, params?: Params): unknown;
}

export interface NegotiationOptions {
  /** "auto" tries the modern era first and falls back to the legacy one. @default "auto" */
  readonly era?: "auto" | "modern" | "legacy" | undefined;
  /** How long to wait for a reply to `server/discover` on wires other than HTTP before falling back. @default 5000 */
  readonly probeMs?: number | undefined;
}

export async function negotiate(
  server: HandshakePeer,
  declaration: ClientDeclaration,
  { era = "auto", probeMs = 5_000 }: NegotiationOptions,
  isHttp: boolean,
): Promise<ServerDescription> {
  if (era === "legacy") return initialize(server, declaration);
  try {
    return await discover(server, declaration, isHttp ? {} : { timeoutMs: probeMs });
  } catch (error) {
    if (era === "modern" || !indicatesLegacy(error, isHttp)) throw error;
    return initialize(server, declaration);
  }
}

/** How HTTP servers answer requests of a session that they do not know. */
export const lostStatuses: readonly unknown[] = [400, 404, 410];

/** The legacy handshake; repeated once if the server forgets the session before it has begun. */
export async function initialize(
  server: HandshakePeer,
  declaration: ClientDeclaration,
  again = true,
): Promise<ServerDescription> {
  const result = (await server.call("initialize", {
    protocolVersion: latestLegacy,
    capabilities: declaration.legacyCapabilities,
    clientInfo: declaration.info,
  })) as Partial<InitializeResult> | null;
  const revision = result?.protocolVersion;
  if (!isLegacy(revision)) {
    throw badReply(`the server chose the unsupported revision ${JSON.stringify(revision)}`);
  }
  try {
    await server.notify("notifications/initialized");
  } catch (error) {
    if (!again || !(error instanceof WireError) || !lostStatuses.includes(error.status))
      throw error;
    return initialize(server, declaration, false);
  }
  const { capabilities = {}, serverInfo: info, instructions } = result as InitializeResult;
  const { logLevel: level } = declaration;
  if (level !== undefined && capabilities.logging !== undefined) {
    // A server that refuses the level is still usable.
    await server.call("logging/setLevel", { level }).catch(() => {});
  }
  return { era: "legacy", revision, capabilities, info, instructions };
}

async function discover(
  server: HandshakePeer,
  declaration: ClientDeclaration,
  options: { timeoutMs?: number },
): Promise<ServerDescription> {
  let revision: ModernRevision = latestModern;
  for (let attempt = 1; ; attempt++) {
    try {
      const params = { _meta: declaration.envelope(revision) };
      const result = (await server.call("server/discover", params, options)) as DiscoverResult;
      return described(result, revision);
    } catch (error) {
      const common = supportedIn(error)?.find(isModern);
      if (attempt > modernRevisions.length || common === undefined) throw error;
      revision = common;
    }
  }
}

function described(result: DiscoverResult | null, asked: ModernRevision): ServerDescription {
  const supported = result?.supportedVersions;
  if (result === null || !Array.isArray(supported))
    throw badReply("not an MCP server: the reply to server/discover has no supportedVersions");
  const revision = supported.includes(asked) ? asked : supported.find(isModern);
  if (revision === undefined)
    throw badReply("the server and this client have no modern revision in common");
  const { capabilities = {}, instructions, _meta } = result;
  const info = _meta?.[MetaKey.ServerInfo] as Implementation | undefined;
  return { era: "modern", revision, capabilities, info, instructions };
}

/** Whether a method belongs to the handshake. */
export function isHandshake(method: string): boolean {
  return (
    method === "initialize" ||
    method === "server/discover" ||
    method === "notifications/initialized"
  );
}

/** The revisions that a server supports, from its error for an unsupported one. */
function supportedIn(error: unknown): readonly unknown[] | undefined {
  if (!isRpcError(error, McpErrorCode.UnsupportedRevision)) return undefined;
  const { supported } = (error.data ?? {}) as { supported?: unknown };
  return Array.isArray(supported) ? supported : undefined;
}

/** Errors that only modern servers send. */
const modernCodes: readonly number[] = [
  McpErrorCode.HeaderMismatch,
  McpErrorCode.MissingCapability,
  McpErrorCode.UnsupportedRevision,
];

/** Whether a failed probe means a legacy server, rather than one that is down or requires a token. */
function indicatesLegacy(error: unknown, isHttp: boolean): boolean {
  if (error instanceof RemoteError) {
    const supported = supportedIn(error);
    return supported === undefined ? !modernCodes.includes(error.code) : supported.some(isLegacy);
  }
  if (!(error instanceof WireError)) return false;
  const { code, status } = error;
  if (status !== undefined)
    return status >= 300 && status < 500 && status !== 401 && status !== 403;
  if (code === "BAD_REPLY") return true;
  // Some programs crash on a request before `initialize`, or never answer it.
  return !isHttp && (code === "TIMEOUT" || code === "CONNECTION_LOST");
}
