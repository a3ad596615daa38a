import { itemResponses } from "../http/event-peer.ts";
import { systemClock } from "../protocol/clock.ts";
import { consoleLog } from "../protocol/console-log.ts";
import type { Context } from "../protocol/context.ts";
import { defaultMaxRunningBytes } from "../protocol/defaults.ts";
import type { Middleware } from "../protocol/handle.ts";
import type { HostOptions } from "../protocol/host.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Methods } from "../server/method.ts";
import { Server } from "../server/server.ts";
import { MemoryWorkStore } from "../work/memory-store.ts";
import type { WorkStore } from "../work/work-store.ts";
import { AgentTasks } from "./agent-tasks.ts";
import { canonicalCard } from "./canonical-card.ts";
import {
  type AgentCard,
  type AgentDescription,
  addressedCard,
  type CardSigner,
  cardOf,
} from "./card.ts";
import { a2aError, sentError } from "./errors.ts";
import type { Execute } from "./executor.ts";
import { methodsExecutor, skillsOf } from "./method-skills.ts";
import { methodsOf } from "./methods.ts";
import { Operations } from "./operations.ts";
import { PushSender, type Webhooks } from "./push-sender.ts";
import { type ToolCaller, toolSkills, toolsExecutor } from "./tool-skills.ts";

export interface A2aAgentOptions extends Omit<HostOptions, "versions" | "nullParams" | "profile"> {
  /** Who the agent is and what it can do. */
  readonly card: AgentDescription;
  /** Answers messages: a generator, or a function that returns the whole answer. */
  readonly execute: Execute;
  /** Middleware around every call, such as `authenticate`. @default none */
  readonly use?: readonly Middleware[];
  /** Where tasks are stored. Agents that are not one fleet need stores of their own. @default a `MemoryWorkStore` */
  readonly store?: WorkStore;
  /** Sends events to the webhooks of clients: `webhooks()` of `callwire/a2a/node`. @default not supported */
  readonly push?: Webhooks;
  /** The extended card, for authenticated callers; it may differ between them. @default none */
  readonly extendedCard?:
    | AgentDescription
    | ((call: Context) => AgentDescription | undefined | Promise<AgentDescription | undefined>);
  /** Signs the card: `cardSigner` of `callwire/a2a/signing`. @default not signed */
  readonly signCard?: CardSigner;
  /** Whether the agent serves clients of 0.3 too, whose members in the card strict readers of 1.0 refuse. @default true */
  readonly legacy?: boolean;
  /** Most messages that the agent works on at the same time; more are refused. Stops overload. @default 1000 */
  readonly maxAgents?: number;
  /** How long a call waits for a task to be done before it returns the task as it is. @default 600000 */
  readonly blockMs?: number;
}

/** An agent of A2A 1.0 and 0.3, as a service for `serveHttp` and `fetchHandler`. */
export class A2aAgent extends Server {
  /** Each item of a stream is a response, as A2A requires. */
  readonly eventForm = itemResponses;
  readonly trailingSlash = true;
  readonly unsupportedType = a2aError(
    "ContentTypeNotSupported",
    "The Content-Type must be application/json, in UTF-8",
  );
  readonly #card: Omit<AgentCard, "supportedInterfaces">;
  readonly #sign: CardSigner | undefined;
  readonly #hasLegacy: boolean;
  /** Where it is served, if that does not follow from requests. */
  url: string | undefined = undefined;
  /** The scheme at which clients asked for the card. */
  #scheme = "http:";

  constructor(options: A2aAgentOptions) {
    const {
      card: description,
      execute,
      push,
      extendedCard,
      store,
      legacy = true,
      ...rest
    } = options;
    if (typeof execute !== "function")
      throw new TypeError('"execute" must be a function that answers a message');
    const clock = options.clock ?? systemClock;
    const log = options.log ?? consoleLog;
    const sender = push && new PushSender(push, clock, log);
    const has = { push: push !== undefined, extendedCard: extendedCard !== undefined };
    const { use = [] } = options;
    const card = cardOf(description, { ...has, use });
    const tasks = new AgentTasks({
      execute,
      store: store ?? new MemoryWorkStore({ clock }),
      clock,
      log,
      maxRunning: limitOf("maxAgents", options.maxAgents, 1_000),
      // Besides its calls, which may end before the agent has.
      maxRunningBytes:
        limitOf("maxRunningBytes", options.maxRunningBytes, defaultMaxRunningBytes) / 2,
      push: sender,
    });
    const operations = new Operations({
      tasks,
      card,
      push: sender,
      extendedCard:
        extendedCard &&
        (async (call) => {
          const found =
            typeof extendedCard === "function" ? await extendedCard(call) : extendedCard;
          if (found === undefined)
            throw a2aError(
              "ExtendedAgentCardNotConfigured",
              "There is no extended card for this caller",
            );
          const url = this.url ?? this.#addressOf(call);
          return addressedCard(cardOf(found, { ...has, use }), url, legacy);
        }),
      blockMs: limitOf("blockMs", options.blockMs, 600_000),
    });
    super(methodsOf(operations, legacy), {
      ...rest,
      discover: false,
      profile,
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    this.#card = card;
    this.#sign = options.signCard;
    this.#hasLegacy = legacy;
    this.onClose(() => tasks.close());
  }

  /** The card for clients that reach the agent at this URL. */
  async card(url: string): Promise<AgentCard> {
    if (URL.canParse(url)) this.#scheme = new URL(url).protocol;
    const card = addressedCard(this.#card, url, this.#hasLegacy);
    const signature = await this.#sign?.(canonicalCard(card));
    return signature === undefined ? card : { ...card, signatures: [signature] };
  }

  /** The address that a call was sent to. */
  #addressOf({ transport }: Context): string {
    const { authority = "localhost", target = "/a2a" } = transport.http ?? {};
    const [path] = target.split("?");
    return `${this.#scheme}//${authority}${path}`;
  }
}

/**
 * Makes an agent of one function. `a2aMounts` of `callwire/a2a/node` and `a2aHandler` serve it.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { a2aMounts } from "callwire/a2a/node";
 * import { serveHttp } from "callwire/http/node";
 *
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   async *execute(message) {
 *     for (const word of message.text.split(" ")) yield `${word} `;
 *   },
 * });
 * await serveHttp(server, { port: 8000, mounts: a2aMounts(agent) });
 * ```
 */
export function a2aAgent(options: A2aAgentOptions): A2aAgent {
  return new A2aAgent(options);
}

/**
 * Makes an agent whose skills are methods. A message names one in a data part, `{ skill: "math/add", params: { a: 2, b: 3 } }`,
 * and the result is a data part of the answer. Middleware and access rules of a server hold.
 */
a2aAgent.fromMethods = (
  methods: Methods | Server,
  options: Omit<A2aAgentOptions, "execute">,
): A2aAgent => {
  const server = methods instanceof Server ? methods : new Server(methods as Methods);
  const { defaultInputModes = json, defaultOutputModes = json, skills } = options.card;
  const card = {
    ...options.card,
    defaultInputModes,
    defaultOutputModes,
    skills: skills ?? skillsOf(server),
  };
  return new A2aAgent({
    ...options,
    card,
    use: options.use ?? server.use,
    execute: methodsExecutor(server),
  });
};

/**
 * Makes an agent whose skills are the tools of an MCP server. A message names one as for `fromMethods`.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
 *
 * const tools = mcpClient(mcpHttpLink("https://tools.example.com/mcp"), { name: "me", version: "1" });
 * const card = { name: "Tools", description: "Calls tools" };
 * const agent = await a2aAgent.fromTools(tools, { card });
 * ```
 */
a2aAgent.fromTools = async (
  tools: ToolCaller,
  options: Omit<A2aAgentOptions, "execute">,
): Promise<A2aAgent> => {
  const { defaultInputModes = json, defaultOutputModes = json } = options.card;
  const { skills = await toolSkills(tools) } = options.card;
  const card = { ...options.card, defaultInputModes, defaultOutputModes, skills };
  return new A2aAgent({ ...options, card, execute: toolsExecutor(tools, skills) });
};

const json = ["application/json", "text/plain"];

/** A2A has neither notifications nor batches, and its params are objects. */
const profile = {
  nullIds: true,
  notifications: false,
  positionalParams: false,
  batches: () => false,
  sentError,
};
