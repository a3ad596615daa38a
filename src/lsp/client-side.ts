import type { Context } from "../protocol/context.ts";
import type { Log } from "../protocol/log.ts";
import {
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../protocol/message.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import type { LspClientHandlers } from "./handlers.ts";
import type { WorkDoneProgress } from "./lsp-call.ts";
import type { ClientNotifications, ClientRequests } from "./model/messages.ts";
import type { ProgressToken, Registration } from "./model/structures.ts";

type Operation = (params: never, call: Context) => unknown;
type Params<Method extends keyof ClientRequests> = ClientRequests[Method]["params"];

/** Takes the progress of work that the server began by itself. */
export type ProgressListener = (token: ProgressToken, value: WorkDoneProgress) => void;

/** Answers what a server asks of its client: the handlers, and what the library does itself. */
export class ClientSide {
  /** The capabilities that the server registered while it runs, by id. */
  readonly registrations = new Map<string, Registration>();
  /** Receivers of partial results, by token. */
  readonly receivers = new Map<ProgressToken, (value: unknown) => void>();
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #onProgress: ProgressListener | undefined;

  constructor(handlers: LspClientHandlers, onProgress: ProgressListener | undefined) {
    this.#onProgress = onProgress;
    this.#operations = new Map<string, Operation>([
      ...(Object.entries(handlers) as [string, Operation][]),
      [
        "client/registerCapability",
        (params: Params<"client/registerCapability">) => this.#register(params),
      ],
      [
        "client/unregisterCapability",
        (params: Params<"client/unregisterCapability">) => this.#unregister(params),
      ],
      ["window/workDoneProgress/create", () => null],
      [
        "$/progress",
        (params: ClientNotifications["$/progress"]["params"], { log }) =>
          this.#progress(params, log),
      ],
    ]);
  }

  handle(request: Request, context: Context): MaybePromise<Reply | undefined> {
    const operation = this.#operations.get(request.method);
    if (operation === undefined) {
      return request.id === undefined ? undefined : failure(methodNotFound);
    }
    const result = operation((request.params ?? undefined) as never, context);
    if (!isThenable(result)) return success(result ?? null);
    return result.then((value) => success(value ?? null));
  }

  #register({ registrations }: Params<"client/registerCapability">): void {
    for (const each of registrations) this.registrations.set(each.id, each);
  }

  #unregister({ unregisterations }: Params<"client/unregisterCapability">): void {
    for (const { id } of unregisterations) this.registrations.delete(id);
  }

  #progress({ token, value }: ClientNotifications["$/progress"]["params"], log: Log): void {
    const receiver = this.receivers.get(token);
    if (receiver !== undefined) receiver(value);
    else if (this.#onProgress !== undefined) this.#onProgress(token, value as WorkDoneProgress);
    else log.debug({ token }, "ignored progress that no call waits for");
  }
}
