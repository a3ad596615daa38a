import type { CallContext } from "../../protocol/context.ts";
import {
  type ErrorObject,
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import {
  type ClientCapabilities,
  type Implementation,
  isLogLevel,
  type ServerCapabilities,
} from "../capabilities.ts";
import { McpError, unsupportedRevision } from "../errors.ts";
import { MetaKey } from "../meta-keys.ts";
import type { CacheHints } from "../results.ts";
import { isModern, revisions } from "../revisions.ts";
import type { Caller, Operation, Operations } from "./operation.ts";

export interface ModernSettings {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: () => ServerCapabilities;
  readonly cache: Required<CacheHints>;
}

/** The session of an HTTP origin whose headers name the modern era. */
export const modernWire = {};

const cacheable = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

const unknownMethod: ErrorObject & { status: number } = { ...methodNotFound, status: 404 };

/** 2026-07-28: no sessions, each request describes its client, and the server sends no requests. */
export class ModernEra {
  readonly #operations: Operations;
  readonly #settings: ModernSettings;

  constructor(operations: readonly [string, Operation][], settings: ModernSettings) {
    this.#settings = settings;
    this.#operations = new Map([...operations, ["server/discover", () => this.#discover()]]);
  }

  handle(request: Request, context: CallContext): MaybePromise<Reply | undefined> {
    if (request.id === undefined) return undefined;
    const params = (request.params ?? {}) as Readonly<Record<string, unknown>>;
    const caller = callerOf(params._meta);
    const { method } = request;
    const operation = this.#operations.get(method);
    if (operation === undefined) return failure(unknownMethod);
    const result = operation(params, context, caller);
    return isThenable(result)
      ? result.then((later) => this.#complete(method, later))
      : this.#complete(method, result);
  }

  #discover(): object {
    const { capabilities, instructions } = this.#settings;
    const { tasks, ...offered } = capabilities();
    return {
      supportedVersions: revisions,
      capabilities: offered,
      ...(instructions !== undefined && { instructions }),
    };
  }

  #complete(method: string, result: { resultType?: unknown; _meta?: object }): Reply {
    const { info, cache } = this.#settings;
    const _meta = { ...result._meta, [MetaKey.ServerInfo]: info };
    if (result.resultType !== undefined) return success({ ...result, _meta });
    return cacheable.has(method)
      ? success({ resultType: "complete", ...result, ...cache, _meta })
      : success({ resultType: "complete", ...result, _meta });
  }
}

/** Reads the envelope that every request carries. */
function callerOf(meta: unknown): Caller {
  if (!isRecord(meta)) throw incomplete("params._meta is missing");
  const version = meta[MetaKey.ProtocolVersion];
  const capabilities = meta[MetaKey.ClientCapabilities];
  if (typeof version !== "string") throw incomplete(`_meta lacks ${MetaKey.ProtocolVersion}`);
  if (!isRecord(capabilities)) throw incomplete(`_meta lacks ${MetaKey.ClientCapabilities}`);
  if (!isModern(version)) throw unsupportedRevision(version);
  const info = meta[MetaKey.ClientInfo];
  const logLevel = meta[MetaKey.LogLevel];
  return {
    revision: version,
    capabilities: capabilities as ClientCapabilities,
    info: isRecord(info) ? (info as unknown as Implementation) : undefined,
    logLevel: isLogLevel(logLevel) ? logLevel : undefined,
    session: undefined,
  };
}

function incomplete(sentence: string): McpError {
  return new McpError(-32602, sentence, undefined, { status: 400 });
}
