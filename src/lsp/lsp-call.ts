import type { Context } from "../protocol/context.ts";
import type { Log } from "../protocol/log.ts";
import type { Id } from "../protocol/message.ts";
import type { Peer } from "../protocol/origin.ts";
import type { ConnectedClient } from "./connected-client.ts";
import type { Documents } from "./documents.ts";
import type {
  ProgressToken,
  WorkDoneProgressBegin,
  WorkDoneProgressEnd,
  WorkDoneProgressReport,
} from "./model/structures.ts";
import { joinedResult } from "./partial-results.ts";

/** What a progress report says: that work begins, how far it is, or that it ends. */
export type WorkDoneProgress = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

/** Some clients send null where the protocol leaves a token out. */
interface Tokens {
  readonly workDoneToken?: ProgressToken | null;
  readonly partialResultToken?: ProgressToken | null;
}

/** What the handler of a language server knows about a request or notification besides its params. */
export class LspCall<Partial = never> {
  /** The client that sent it. */
  readonly client: ConnectedClient;
  readonly #context: Context;
  readonly #tokens: Tokens;
  /** Parts of the result for a client that did not ask for parts. */
  #held: unknown;

  constructor(context: Context, client: ConnectedClient, params: unknown) {
    this.#context = context;
    this.client = client;
    this.#tokens = (params ?? {}) as Tokens;
    this.#held = undefined;
  }

  /** Undefined for a notification. */
  get id(): Id | undefined {
    return this.#context.id;
  }

  get method(): string {
    return this.#context.method;
  }

  /** Aborts when the client cancels the request, or the connection breaks. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get log(): Log {
    return this.#context.log;
  }

  /** The client without types, for methods outside of the protocol. */
  get peer(): Peer {
    return this.#context.peer;
  }

  /** The documents that the client has open. */
  get documents(): Documents {
    return this.client.documents;
  }

  /** Reports progress, if the client asked for it. */
  progress(value: WorkDoneProgress): void {
    const { workDoneToken: token } = this.#tokens;
    if (isToken(token)) this.peer.notify("$/progress", { token, value });
  }

  /**
   * Sends a part of the result before the rest; the handler then returns what is left. If the client did not ask for
   * parts, they are kept and joined with the rest.
   */
  partial(part: Partial): void {
    const { partialResultToken: token } = this.#tokens;
    if (isToken(token)) this.peer.notify("$/progress", { token, value: part });
    else this.#held = joinedResult(this.#held, part);
  }

  /** The whole result: the parts so far, and `rest`, which the handler returned. Internal. */
  result(rest: unknown): unknown {
    return (this.#held === undefined ? rest : joinedResult(this.#held, rest)) ?? null;
  }
}

function isToken(token: ProgressToken | null | undefined): token is ProgressToken {
  return token !== undefined && token !== null;
}
