import { Client } from "../../client/client.ts";
import type { HeaderRecord, HeaderSource } from "../../http/client-exchange.ts";
import { systemClock } from "../../protocol/clock.ts";
import { defaultMaxReplyBytes } from "../../protocol/defaults.ts";
import { isRpcError, RpcError, WireError } from "../../protocol/errors.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { Params } from "../../protocol/message.ts";
import { pause } from "../../protocol/waiting.ts";
import { httpLink } from "../../transports/http/fetch-link.ts";
import { type Content, partsOf } from "../agent-update.ts";
import type { AgentCard } from "../card.ts";
import { A2aErrorCode, isBusy } from "../errors.ts";
import * as legacy from "../legacy.ts";
import {
  isInterrupted,
  isTerminal,
  type ListTasksParams,
  type ListTasksResult,
  type Message,
  type PushConfig,
  type SendConfiguration,
  type SendParams,
  type SendResult,
  type StreamResponse,
  type Task,
} from "../model.ts";
import type { CardCache } from "./card-cache.ts";
import { credentialHeaders, type Discovered, discover, sent } from "./discovery.ts";
import { checkedEvent, checkedResult, checkedTask } from "./event-check.ts";
import { resultsOf } from "./event-reader.ts";
import { FollowedTask } from "./followed-task.ts";

export interface A2aClientOptions {
  /** Secrets by the names of the card's security schemes, such as a token or an API key. @default none */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Sent with every request; a function is called for each, and may be asynchronous. @default none */
  readonly headers?: HeaderSource;
  /**
   * Other origins than that of the card, such as `https://api.example.com`, that may get `credentials` and `headers`;
   * stops a card from sending them elsewhere. Not needed with `checkCard`. @default none
   */
  readonly origins?: readonly string[];
  /** URIs of the extensions that the client supports. @default none */
  readonly extensions?: readonly string[];
  /** Used instead of the global `fetch`. @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Checks the card before it is used, such as its signatures; throws to refuse it. @default none */
  readonly checkCard?: (card: AgentCard) => void | Promise<void>;
  /** Keeps the card for clients that are made later. @default each client reads it */
  readonly cards?: CardCache;
  /** Middleware around each call except streams, such as `tracing`. @default none */
  readonly use?: readonly Middleware[];
  /** How long a call waits for its reply; agents take minutes. @default 600000 */
  readonly timeoutMs?: number;
  /** How many times in a row a lost stream is resumed. @default 5 */
  readonly maxResumes?: number;
}

/** Members of a message besides its content. */
export interface SendOptions extends SendConfiguration {
  /** The task that the message belongs to, if the agent asked for input. */
  readonly taskId?: string;
  /** The conversation that the message belongs to. */
  readonly contextId?: string;
  /** Additional data for the agent. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Stops waiting; the task continues. */
  readonly signal?: AbortSignal;
}

/** An event, and its length in characters. */
type Arrived = readonly [StreamResponse, number];

/** A client of one agent, for A2A 1.0 and 0.3. */
export class A2aClient {
  readonly card: AgentCard;
  readonly #at: Discovered;
  readonly #options: A2aClientOptions;
  readonly #client: Client;
  readonly #own: HeaderRecord;
  #ids = 0;

  constructor(at: Discovered, options: A2aClientOptions) {
    this.card = at.card;
    this.#at = at;
    this.#options = options;
    const { extensions = [], fetch, use = [], timeoutMs = 600_000 } = options;
    this.#own = {
      ...credentialHeaders(at.card.securitySchemes, options.credentials),
      "a2a-version": at.version,
      ...(extensions.length > 0 && { "a2a-extensions": extensions.join(", ") }),
    };
    const link = httpLink(at.url, { headers: () => this.#headers(), ...(fetch && { fetch }) });
    this.#client = new Client(link, { timeoutMs, use });
  }

  /** Sends a message, and waits until the agent has answered, is done, or asks for input. */
  async send(content: Content | Message, options: SendOptions = {}): Promise<SendResult> {
    const params = this.#sendParams(content, options);
    if (this.#at.version === "1.0")
      return checkedResult(await this.#call("SendMessage", params, options.signal));
    const result = await this.#call("message/send", legacy.sendTo(params), options.signal);
    return checkedResult(legacy.responseFrom(result));
  }

  /** Sends a message, and yields all that happens. A lost connection is resumed if the agent has made it a task. */
  stream(content: Content | Message, options: SendOptions = {}): AsyncGenerator<StreamResponse> {
    const params = this.#sendParams(content, options);
    return this.#at.version === "1.0"
      ? this.#follow("SendStreamingMessage", params, options.signal)
      : this.#follow("message/stream", legacy.sendTo(params), options.signal);
  }

  /** The task as it is, then all that happens to it. */
  subscribe(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<StreamResponse> {
    return this.#follow(this.#subscribing, { id, ...this.#tenant() }, options.signal);
  }

  async getTask(id: string, historyLength?: number): Promise<Task> {
    const params = { id, ...this.#tenant(), ...(historyLength !== undefined && { historyLength }) };
    if (this.#at.version === "1.0") return checkedTask(await this.#call("GetTask", params));
    return checkedTask(legacy.taskFrom(await this.#call("tasks/get", params)));
  }

  /** The tasks of this caller, newest first. Agents of 0.3 cannot list them. */
  async listTasks(params: ListTasksParams = {}): Promise<ListTasksResult> {
    if (this.#at.version !== "1.0")
      throw new WireError(
        "UNSUPPORTED",
        "the agent supports only A2A 0.3, which cannot list tasks",
      );
    return this.#call("ListTasks", { ...this.#tenant(), ...params });
  }

  async cancelTask(id: string): Promise<Task> {
    const params = { id, ...this.#tenant() };
    if (this.#at.version === "1.0") return checkedTask(await this.#call("CancelTask", params));
    return checkedTask(legacy.taskFrom(await this.#call("tasks/cancel", params)));
  }

  /** Has the agent send the events of a task to a webhook. */
  async createPushConfig(
    config: Omit<PushConfig, "id"> & { readonly id?: string },
  ): Promise<PushConfig> {
    if (this.#at.version === "1.0")
      return this.#call("CreateTaskPushNotificationConfig", { ...this.#tenant(), ...config });
    const set = await this.#call("tasks/pushNotificationConfig/set", legacy.pushTo(config));
    return legacy.pushConfigFrom(set) as unknown as PushConfig;
  }

  async listPushConfigs(taskId: string): Promise<readonly PushConfig[]> {
    if (this.#at.version === "1.0") {
      const { configs } = await this.#call<{ configs?: readonly PushConfig[] }>(
        "ListTaskPushNotificationConfigs",
        { taskId, ...this.#tenant() },
      );
      return configs ?? [];
    }
    const configs = await this.#call("tasks/pushNotificationConfig/list", { id: taskId });
    return Array.isArray(configs) ? (configs.map(legacy.pushConfigFrom) as never[]) : [];
  }

  async deletePushConfig(taskId: string, id: string): Promise<void> {
    if (this.#at.version === "1.0")
      await this.#call("DeleteTaskPushNotificationConfig", { taskId, id, ...this.#tenant() });
    else {
      const params = { id: taskId, pushNotificationConfigId: id };
      await this.#call("tasks/pushNotificationConfig/delete", params);
    }
  }

  /** The extended card, for authenticated callers. */
  extendedCard(): Promise<AgentCard> {
    return this.#at.version === "1.0"
      ? this.#call("GetExtendedAgentCard", this.#tenant())
      : this.#call("agent/getAuthenticatedExtendedCard", {});
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  get #subscribing(): string {
    return this.#at.version === "1.0" ? "SubscribeToTask" : "tasks/resubscribe";
  }

  #sendParams(content: Content | Message, options: SendOptions): SendParams {
    const { taskId, contextId, metadata, signal: _, ...configuration } = options;
    const message: Message =
      typeof content === "object" && "messageId" in content
        ? content
        : {
            messageId: crypto.randomUUID(),
            role: "ROLE_USER",
            parts: partsOf(content as Content),
            ...(taskId !== undefined && { taskId }),
            ...(contextId !== undefined && { contextId }),
          };
    return { message, configuration, ...(metadata && { metadata }), ...this.#tenant() };
  }

  #tenant(): { readonly tenant?: string } {
    const { tenant } = this.#at;
    return tenant === undefined ? {} : { tenant };
  }

  #call<T>(method: string, params: object, signal?: AbortSignal): Promise<T> {
    return this.#client.call(method, params as Params, signal && { signal }) as Promise<T>;
  }

  async #headers(): Promise<HeaderRecord> {
    const { headers } = this.#options;
    return { ...this.#own, ...(typeof headers === "function" ? await headers() : headers) };
  }

  /** The events of a stream, resumed if its connection is lost after it has become a task. */
  async *#follow(
    method: string,
    params: object,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StreamResponse> {
    const { maxResumes = 5 } = this.#options;
    const followed = new FollowedTask(defaultMaxReplyBytes);
    for (let losses = 0; ; losses++) {
      try {
        const { task: before } = followed;
        const results =
          before === undefined ? this.#open(method, params, signal) : this.#rest(before.id, signal);
        for await (const [event, length] of results) {
          for (const each of followed.newIn(event)) {
            // The task alone is not progress: an agent could end the stream after it forever.
            if (!("task" in each)) losses = 0;
            followed.apply(each, length);
            yield each;
          }
        }
        const { task } = followed;
        if (task === undefined || isDone(task)) return;
        if (losses >= maxResumes)
          throw new WireError(
            "CONNECTION_LOST",
            "the agent repeatedly ended the stream although the task is not done",
          );
      } catch (error) {
        const isBad = error instanceof WireError && error.code === "BAD_REPLY";
        // An agent ends the stream of a client that reads too slowly.
        const isAnswer = error instanceof RpcError && !isBusy(error);
        const isLost = !isAnswer && !isBad && signal?.aborted !== true;
        if (followed.task === undefined || !isLost || losses >= maxResumes) throw error;
      }
      await pause(firstPauseMs * 2 ** losses, systemClock, signal);
      signal?.throwIfAborted();
    }
  }

  /** What happens to a task from now on; agents do not let clients subscribe to one that is over. */
  async *#rest(id: string, signal: AbortSignal | undefined): AsyncGenerator<Arrived> {
    try {
      yield* this.#open(this.#subscribing, { id, ...this.#tenant() }, signal);
    } catch (error) {
      if (!isRpcError(error, A2aErrorCode.UnsupportedOperation)) throw error;
      yield [{ task: await this.getTask(id) }, 0];
    }
  }

  async *#open(
    method: string,
    params: object,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Arrived> {
    const { fetch: send = (url: string, init: RequestInit) => fetch(url, init) } = this.#options;
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#ids, method, params });
    const headers = {
      ...(await this.#headers()),
      "content-type": "application/json",
      accept: "text/event-stream",
    };
    const response = await sent(send, this.#at.url, {
      method: "POST",
      headers,
      body,
      // Following a redirect would send the message and the credentials to another server.
      redirect: "manual",
      ...(signal && { signal }),
    });
    for await (const [result, length] of resultsOf(response, defaultMaxReplyBytes)) {
      const event = this.#at.version === "1.0" ? result : legacy.responseFrom(result);
      yield [checkedEvent(event), length];
    }
  }
}

/** The wait before a lost stream is resumed; it doubles. */
const firstPauseMs = 50;

/** Whether the agent will do nothing more without the client. */
function isDone({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state);
}

/** Refuses a card that names a server elsewhere, which would get the credentials. */
function checkOrigin(url: string, address: string, { origins = [] }: A2aClientOptions): void {
  const { origin } = new URL(url);
  if (origin === new URL(address).origin || origins.includes(origin)) return;
  throw new WireError(
    "UNSUPPORTED",
    `the agent card names ${origin}, which would get the credentials and headers of this client; if it may, add it to "origins"`,
  );
}

/**
 * Connects to the agent at an address: reads its card, and chooses the interface that both know.
 * @example
 * ```ts
 * import { a2aClient } from "callwire/a2a";
 *
 * const agent = await a2aClient("https://agents.example.com");
 * console.log(agent.card.name);
 * for await (const event of agent.stream("What is new?")) console.log(event);
 * ```
 */
export async function a2aClient(
  address: string,
  options: A2aClientOptions = {},
): Promise<A2aClient> {
  const { fetch: send = (url: string, init: RequestInit) => fetch(url, init), headers } = options;
  const own = typeof headers === "function" ? await headers() : (headers ?? {});
  const found = await discover(address, send, own, options.cards);
  await options.checkCard?.(found.card);
  const hasSecrets = headers !== undefined || options.credentials !== undefined;
  if (hasSecrets && options.checkCard === undefined) checkOrigin(found.url, address, options);
  return new A2aClient(found, options);
}
