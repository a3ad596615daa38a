import type { CallContext } from "../../protocol/context.ts";
import {
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import type { SessionReports } from "../../protocol/session-reports.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import {
  type ClientCapabilities,
  type Implementation,
  isLogLevel,
  type ServerCapabilities,
} from "../capabilities.ts";
import { invalidArguments } from "../errors.ts";
import { tasksExtension } from "../meta-keys.ts";
import { atLeast, isLegacy, latestLegacy } from "../revisions.ts";
import type { Catalog } from "./catalog.ts";
import type { Changes } from "./changes.ts";
import { findResource, resourceNotFound } from "./feature-operations.ts";
import type { Operation, Operations } from "./operation.ts";
import type { RootsChanged } from "./roots-changed.ts";
import { rememberPagesOf, Session } from "./session.ts";

export interface LegacySettings {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: () => ServerCapabilities;
  readonly catalog: Catalog;
  readonly changes: Changes;
  readonly rootsChanged: RootsChanged | undefined;
  readonly reports: SessionReports;
}

/** The revisions up to 2025-11-25: sessions that begin with `initialize`, and requests in both directions. */
export class LegacyEra {
  readonly #operations: Operations;
  readonly #changes: Changes;
  readonly #rootsChanged: RootsChanged | undefined;
  readonly #reports: SessionReports;

  constructor(shared: readonly [string, Operation][], settings: LegacySettings) {
    this.#changes = settings.changes;
    this.#rootsChanged = settings.rootsChanged;
    this.#reports = settings.reports;
    this.#operations = new Map([...shared, ...legacyOperations(settings)]);
  }

  handle(request: Request, context: CallContext): MaybePromise<Reply | undefined> {
    if (request.id === undefined) {
      this.#notified(request.method, context);
      return undefined;
    }
    const operation = this.#operations.get(request.method);
    if (operation === undefined) return failure(methodNotFound);
    const params = (request.params ?? {}) as Readonly<Record<string, unknown>>;
    const session = this.#sessionOf(context);
    const failed = (error: unknown): never => {
      rememberPagesOf(session, error);
      throw error;
    };
    try {
      const result = operation(params, context, session);
      return isThenable(result) ? result.then(success, failed) : success(result);
    } catch (error) {
      return failed(error);
    }
  }

  /** The only notification of clients that matters here; the connection handles cancellations. */
  #notified(method: string, context: CallContext): void {
    if (method !== "notifications/roots/list_changed") return;
    void this.#rootsChanged?.(context, this.#sessionOf(context));
  }

  /** HTTP requests have a session; on other wires the connection is the session. */
  #sessionOf({ origin }: CallContext): Session {
    if (origin.session instanceof Session) return origin.session;
    const session = new Session("");
    session.peer = origin.peer;
    session.since = this.#reports.begin();
    origin.session = session;
    this.#changes.addSession(session);
    void origin.peer.closed.then(() => {
      this.#changes.removeSession(session);
      reportEnd(session, this.#reports, origin.transport.kind);
    });
    return session;
  }
}

/** Reports how long a session of this process lasted. */
export function reportEnd(session: Session, reports: SessionReports, transport: string): void {
  if (session.since === undefined) return;
  reports.ended(session.since, {
    protocol: "mcp",
    side: "server",
    transport,
    labels: { "mcp.protocol.version": session.revision },
    failure: undefined,
  });
}

function legacyOperations(settings: LegacySettings): [string, Operation][] {
  const { info, instructions, capabilities, catalog, changes } = settings;
  const initialize: Operation = (params, _context, caller) => {
    const session = caller.session as Session;
    const { protocolVersion, capabilities: declared, clientInfo } = params;
    if (typeof protocolVersion !== "string") {
      throw invalidArguments('"protocolVersion" must be a string');
    }
    if (JSON.stringify([declared, clientInfo]).length > longestGreeting) {
      throw invalidArguments(
        `"capabilities" and "clientInfo" must have at most ${longestGreeting} characters`,
      );
    }
    session.revision = isLegacy(protocolVersion) ? protocolVersion : latestLegacy;
    session.capabilities = keptCapabilities(declared);
    session.info = keptInfo(clientInfo);
    const { tasks, extensions, ...offered } = capabilities();
    const hasTasks = tasks !== undefined && atLeast(session.revision, "2025-11-25");
    // Tasks became an extension later.
    const { [tasksExtension]: _, ...others } = extensions ?? {};
    return {
      protocolVersion: session.revision,
      capabilities: {
        ...offered,
        ...(hasTasks && { tasks }),
        ...(Object.keys(others).length > 0 && { extensions: others }),
      },
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    };
  };
  const setLevel: Operation = ({ level }, _, { session }) => {
    if (!isLogLevel(level)) throw invalidArguments('"level" is not a known log level');
    (session as Session).logLevel = level;
    (session as Session).isChanged = true;
    return {};
  };
  const subscribe: Operation = ({ uri }, context, caller) => {
    const session = caller.session as Session;
    if (typeof uri !== "string") throw invalidArguments('"uri" must be a string');
    if (findResource(catalog, uri, context) === undefined) {
      throw resourceNotFound(uri, session);
    }
    const ready = changes.watching([uri]);
    if (!changes.subscribe(session, uri)) throw invalidArguments("too many subscriptions");
    return ready === undefined ? {} : ready.then(() => ({}));
  };
  const unsubscribe: Operation = ({ uri }, _, { session }) => {
    changes.unsubscribe(session as Session, uri as string);
    return {};
  };
  return [
    ["initialize", initialize],
    ["ping", () => ({})],
    ["logging/setLevel", setLevel],
    ["resources/subscribe", subscribe],
    ["resources/unsubscribe", unsubscribe],
  ];
}

const longestGreeting = 32 * 1024;

/** Longest parts of an `initialize` that are kept whole, in characters; thousands of sessions may be idle. */
const longestKept = 2_048;
const longestName = 128;

/** The declared capabilities; of a long declaration only those that this server uses. */
export function keptCapabilities(declared: unknown): ClientCapabilities {
  if (!isRecord(declared)) return {};
  if (isShort(declared)) return declared;
  const { roots, sampling, elicitation, tasks } = declared;
  return {
    ...(isRecord(roots) && { roots: flags(roots, ["listChanged"]) }),
    ...(isRecord(sampling) && { sampling: flags(sampling, ["context", "tools"]) }),
    ...(isRecord(elicitation) && { elicitation: flags(elicitation, ["form", "url"]) }),
    ...(isRecord(tasks) && isShort(tasks) && { tasks }),
  };
}

/** The name and version of a client; of a long description only the names. */
export function keptInfo(info: unknown): Implementation | undefined {
  if (!isRecord(info)) return undefined;
  if (isShort(info)) return info as unknown as Implementation;
  const { name, version, title } = info;
  return {
    name: cut(name) ?? "",
    version: cut(version) ?? "",
    ...(typeof title === "string" && { title: cut(title) ?? "" }),
  };
}

function isShort(value: object): boolean {
  return JSON.stringify(value).length <= longestKept;
}

/** The named members, reduced to flags. */
function flags(
  declared: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, never>> {
  const found = names.filter((name) => declared[name] !== undefined);
  return Object.fromEntries(
    found.map((name) => {
      const value = declared[name];
      return [name, typeof value === "boolean" ? value : {}];
    }),
  ) as Readonly<Record<string, never>>;
}

function cut(text: unknown): string | undefined {
  return typeof text === "string" ? text.slice(0, longestName) : undefined;
}
