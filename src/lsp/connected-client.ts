import type { Params } from "../protocol/message.ts";
import type { CallBackOptions, Peer } from "../protocol/origin.ts";
import type { CallArguments } from "./call-arguments.ts";
import { Configuration } from "./configuration.ts";
import { Documents } from "./documents.ts";
import { memberAt } from "./member-path.ts";
import { clientCapabilities, registrationMethods } from "./model/capabilities.ts";
import type {
  ClientNotifications,
  ClientRequests,
  ServerNotifications,
  ServerRequests,
} from "./model/messages.ts";
import type {
  ClientCapabilities,
  InitializeParams,
  TraceValue,
  WorkDoneProgressBegin,
} from "./model/structures.ts";
import { type PositionEncoding, positionEncodings } from "./position-encoding.ts";
import { WorkInProgress } from "./work-in-progress.ts";

type Registrable = ServerRequests & ServerNotifications;

/** The options of a dynamic registration; methods without a type for them cannot be registered. */
export type RegistrationOf<Method extends keyof Registrable> = Registrable[Method]["registration"];

/** A capability that was registered while the server runs. */
export interface RegisteredCapability {
  /** Removes the capability. */
  unregister(): Promise<void>;
}

/** The phase of a connection, as LSP defines it. */
export type LifecycleState = "new" | "initializing" | "running" | "shutdown";

/** A client as the server sees it: its params of `initialize`, its documents, and a way to call it. */
export class ConnectedClient {
  readonly peer: Peer;
  readonly documents: Documents = new Documents(() => this.encoding);
  /** The user's settings. */
  readonly configuration: Configuration = new Configuration(this);
  state: LifecycleState = "new";
  /** What it sent with `initialize`; empty before. */
  params: InitializeParams = { processId: null, rootUri: null, capabilities: {} };
  /** How positions are counted, as agreed with `initialize`. */
  encoding: PositionEncoding = positionEncodings["utf-16"] as PositionEncoding;
  /** How much tracing the client wants. */
  trace: TraceValue = "off";
  readonly #works = new Map<string | number, WorkInProgress>();
  #registrations = 0;

  constructor(peer: Peer) {
    this.peer = peer;
  }

  get capabilities(): ClientCapabilities {
    return this.params.capabilities;
  }

  /** The exit code of the server process if the client disconnects now. Internal. */
  get exitCode(): number {
    return this.state === "shutdown" ? 0 : 1;
  }

  /** Sends a request, typed by its method. */
  request<Method extends keyof ClientRequests>(
    method: Method,
    ...[params, options]: CallArguments<ClientRequests[Method]["params"], CallBackOptions>
  ): Promise<ClientRequests[Method]["result"]> {
    return this.peer.call(method, params as unknown as Params, options) as Promise<never>;
  }

  /** Sends a notification, typed by its method; false if the connection is closed. */
  notify<Method extends keyof ClientNotifications>(
    method: Method,
    params: ClientNotifications[Method]["params"],
  ): boolean {
    return this.peer.notify(method, params as Params);
  }

  /** Sends a trace, if the user wants traces; `verbose` is for the most detailed kind only. */
  logTrace(message: string, verbose?: string): void {
    if (this.trace === "off") return;
    const hasMore = this.trace === "verbose" && verbose !== undefined;
    this.notify("$/logTrace", hasMore ? { message, verbose } : { message });
  }

  /** Whether `register` works for a method. */
  canRegister(method: keyof Registrable): boolean {
    const names = clientCapabilities[method]?.split(".") ?? [];
    // Clients declare methods such as `textDocument/didSave` together, in a capability above them.
    return names.some((_, depth) => {
      const path = [...names.slice(0, depth + 1), "dynamicRegistration"].join(".");
      return memberAt(this.capabilities, path) === true;
    });
  }

  /** Offers a method while the server runs, such as one that the user turned on. */
  async register<Method extends keyof Registrable>(
    method: Method,
    registerOptions: RegistrationOf<Method>,
  ): Promise<RegisteredCapability> {
    const registration = {
      id: `callwire-${++this.#registrations}`,
      method: registrationMethods[method] ?? method,
    };
    await this.request("client/registerCapability", {
      registrations: [{ ...registration, registerOptions }],
    });
    return {
      unregister: async () => {
        // The protocol has this spelling.
        await this.request("client/unregisterCapability", { unregisterations: [registration] });
      },
    };
  }

  /** Shows progress of work that no request asked for, if the client can show it. */
  async beginProgress(begin: Omit<WorkDoneProgressBegin, "kind">): Promise<WorkInProgress> {
    const isShown = this.capabilities.window?.workDoneProgress === true;
    const token = `callwire-${crypto.randomUUID()}`;
    if (isShown) await this.request("window/workDoneProgress/create", { token });
    const work = new WorkInProgress(isShown ? this.peer : undefined, token, () =>
      this.#works.delete(token),
    );
    if (isShown) this.#works.set(token, work);
    work.begin(begin);
    return work;
  }

  /** The user cancelled work that `beginProgress` shows. Internal. */
  cancelProgress({ token }: ServerNotifications["window/workDoneProgress/cancel"]["params"]): void {
    this.#works.get(token)?.cancel();
  }
}
