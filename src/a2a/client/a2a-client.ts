import { Client } from "../../client/client.ts";
import type { HeaderRecord, HeaderSource } from "../../http/client-exchange.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Params } from "../../protocol/message.ts";
import { httpLink } from "../../transports/http/fetch-link.ts";
import { type Content, partsOf } from "../agent-update.ts";
import type { AgentCard } from "../card.ts";
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
import { changed, changesBetween } from "../task-change.ts";
import { credentialHeaders, type Discovered, discover } from "./discovery.ts";
import { resultsOf } from "./event-reader.ts";

export interface A2aClientOptions {
  /** Secrets by the names of the card's security schemes, such as a token or an API key. @default none */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Sent with every request; a function is called for each, and may be asynchronous. @default none */
  readonly headers?: HeaderSource;
  /** URIs of the extensions that the client supports. @default none */
  readonly extensions?: readonly string[];
  /** Used in place of the global `fetch`. @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Checks the card before it is used, such as its signatures; throws to refuse it. @default none */
  readonly checkCard?: (card: AgentCard) => void | Promise<void>;
  /** How long a call waits for its reply; agents take minutes. @default 600000 */
  readonly timeoutMs?: number;
  /** How often a stream whose connection is lost is resumed, in a row. @default 5 */
  readonly maxResumes?: number;
}

/** What a message can have besides its content. */
export interface SendOptions extends SendConfiguration {
  /** The task that the message belongs to, if the agent asked for input. */
  readonly taskId?: string;
  /** The conversation that the message belongs to. */
  readonly contextId?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

const maxReplyLength = 10 * 1024 * 1024;

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
    const { extensions = [], fetch, timeoutMs = 600_000 } = options;
    this.#own = {
      ...credentialHeaders(at.card.securitySchemes, options.credentials),
      "a2a-version": at.version,
      ...(extensions.length > 0 && { "a2a-extensions": extensions.join(", ") }),
    };
    const link = httpLink(at.url, { headers: () => this.#headers(), ...(fetch && { fetch }) });
    this.#client = new Client(link, { timeoutMs });
  }

  /** Sends a message, and waits until the agent has answered, is done, or asks for input. */
  async send(content: Content | Message, options: SendOptions = {}): Promise<SendResult> {
    const params = this.#sendParams(content, options);
    if (this.#at.version === "1.0") return this.#call("SendMessage", params, options.signal);
    const result = await this.#call("message/send", legacy.sendTo(params), options.signal);
    return legacy.responseFrom(result) as SendResult;
  }

  /** Sends a message, and yields all that happens. A lost connection is resumed if the agent has made it a task. */
  stream(content: Content | Message, options: SendOptions = {}): AsyncGenerator<StreamResponse> {
    const params = this.#sendParams(content, options);
    return this.#at.version === "1.0"
      ? this.#follow("SendStreamingMessage", params, undefined, options.signal)
      : this.#follow("message/stream", legacy.sendTo(params), undefined, options.signal);
  }

  /** The task as it is, then all that happens to it. */
  subscribe(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<StreamResponse> {
    return this.#follow(this.#subscribing, { id, ...this.#tenant() }, undefined, options.signal);
  }

  async getTask(id: string, historyLength?: number): Promise<Task> {
    const params = { id, ...this.#tenant(), ...(historyLength !== undefined && { historyLength }) };
    if (this.#at.version === "1.0") return this.#call("GetTask", params);
    return legacy.taskFrom(await this.#call("tasks/get", params));
  }

  /** The tasks of this caller, newest first. Agents of 0.3 cannot list them. */
  async listTasks(params: ListTasksParams = {}): Promise<ListTasksResult> {
    this.#needModern("list tasks");
    return this.#call("ListTasks", { ...this.#tenant(), ...params });
  }

  async cancelTask(id: string): Promise<Task> {
    const params = { id, ...this.#tenant() };
    if (this.#at.version === "1.0") return this.#call("CancelTask", params);
    return legacy.taskFrom(await this.#call("tasks/cancel", params));
  }

  /** Has the agent send the events of a task to a webhook. */
  async createPushConfig(
    config: Omit<PushConfig, "id"> & { readonly id?: string },
  ): Promise<PushConfig> {
    this.#needModern("set a webhook after the message");
    return this.#call("CreateTaskPushNotificationConfig", { ...this.#tenant(), ...config });
  }

  async listPushConfigs(taskId: string): Promise<readonly PushConfig[]> {
    this.#needModern("list webhooks");
    const { configs } = await this.#call<{ configs?: readonly PushConfig[] }>(
      "ListTaskPushNotificationConfigs",
      { taskId, ...this.#tenant() },
    );
    return configs ?? [];
  }

  async deletePushConfig(taskId: string, id: string): Promise<void> {
    this.#needModern("delete a webhook");
    await this.#call("DeleteTaskPushNotificationConfig", { taskId, id, ...this.#tenant() });
  }

  /** The card for callers that the agent knows. */
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

  #needModern(what: string): void {
    if (this.#at.version !== "1.0")
      throw new WireError(
        "UNSUPPORTED",
        `the agent speaks A2A 0.3, in which clients cannot ${what}`,
      );
  }

  #call<T>(method: string, params: object, signal?: AbortSignal): Promise<T> {
    return this.#client.call(method, params as Params, signal && { signal }) as Promise<T>;
  }

  async #headers(): Promise<HeaderRecord> {
    const { headers } = this.#options;
    return { ...this.#own, ...(typeof headers === "function" ? await headers() : headers) };
  }

  /** The events of a stream; `known` is the task as its reader has it, if the stream is resumed. */
  async *#follow(
    method: string,
    params: object,
    known: Task | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StreamResponse> {
    const { maxResumes = 5 } = this.#options;
    let task = known;
    let resumes = 0;
    for (;;) {
      try {
        for await (const result of await this.#open(
          task === undefined ? method : this.#subscribing,
          task === undefined ? params : { id: task.id, ...this.#tenant() },
          signal,
        )) {
          const event =
            this.#at.version === "1.0" ? (result as StreamResponse) : legacy.responseFrom(result);
          const events: StreamResponse[] =
            task !== undefined && "task" in event ? changesBetween(task, event.task) : [event];
          for (const each of events) {
            task = "task" in each ? each.task : task && changed(task, each);
            resumes = 0;
            yield each;
          }
        }
        if (task === undefined || isDone(task)) return;
      } catch (error) {
        if (
          signal?.aborted === true ||
          task === undefined ||
          !(error instanceof TypeError || error instanceof WireError)
        )
          throw error;
        if (resumes >= maxResumes) throw error;
      }
      if (++resumes > maxResumes)
        throw new WireError(
          "CONNECTION_LOST",
          "the stream of the task was lost, and could not be resumed",
        );
      const missed = await this.#missed(task);
      for (const each of missed.events) yield each;
      task = missed.task;
      if (isDone(task)) return;
    }
  }

  /** What happened to a task since it was seen; an agent refuses to subscribe to one that is over. */
  async #missed(
    task: Task,
  ): Promise<{ readonly task: Task; readonly events: readonly StreamResponse[] }> {
    const now = await this.getTask(task.id);
    return { task: now, events: changesBetween(task, now) };
  }

  async #open(
    method: string,
    params: object,
    signal: AbortSignal | undefined,
  ): Promise<AsyncGenerator<unknown>> {
    const { fetch: send = (url: string, init: RequestInit) => fetch(url, init) } = this.#options;
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#ids, method, params });
    const headers = {
      ...(await this.#headers()),
      "content-type": "application/json",
      accept: "text/event-stream",
    };
    const response = await send(this.#at.url, {
      method: "POST",
      headers,
      body,
      ...(signal && { signal }),
    });
    return resultsOf(response, maxReplyLength);
  }
}

/** Whether the agent will do nothing more without the client. */
function isDone({ status }: Task): boolean {
  return isTerminal(status.state) || isInterrupted(status.state);
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
  const found = await discover(address, send, own);
  await options.checkCard?.(found.card);
  return new A2aClient(found, options);
}
