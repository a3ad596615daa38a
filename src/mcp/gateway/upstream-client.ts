import type { Clock } from "../../protocol/clock.ts";
import type { Middleware } from "../../protocol/handle.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import type { Log } from "../../protocol/log.ts";
import type { ClientCapabilities, Implementation } from "../capabilities.ts";
import { ClientDeclaration, type NegotiationOptions } from "../client/handshake.ts";
import type { Answering, InputContext } from "../client/input.ts";
import { ProtocolClient } from "../client/protocol-client.ts";
import { Tools } from "../client/tools.ts";
import type { RequestOptions } from "../client/waiting.ts";
import type { McpWire } from "../client/wire.ts";
import type { InputRequest } from "../client-input.ts";
import { McpError } from "../errors.ts";
import { directRequester } from "../server/client-requester.ts";
import type { FeatureCall } from "../server/feature-call.ts";
import type { Session } from "../server/session.ts";
import { type RelayedCall, RelayedInput } from "./relayed-call.ts";

/** Passes one request on to the server. */
export type Forward = (
  client: UpstreamClient,
  relayed: RelayedCall,
  input: Answering,
) => Promise<object>;

export interface UpstreamClientOptions {
  readonly info: Implementation;
  readonly log: Log;
  readonly clock: Clock;
  readonly era: NegotiationOptions["era"];
  readonly use: readonly Middleware[];
  /** The only session that uses this client; undefined if all sessions share it. */
  readonly session?: Session | undefined;
}

/** What the gateway declares for all of its clients, which differ. */
const anything: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};

/** A connection to a server behind the gateway, for one session or for all. */
export class UpstreamClient {
  readonly protocol: ProtocolClient;
  readonly tools: Tools;
  /** The calls in progress: their clients answer the questions of the server. */
  readonly #calls = new LinkedList<RelayedCall>();
  readonly #session: Session | undefined;
  readonly #isWatched: boolean;

  constructor(wire: McpWire, { info, log, clock, session, era, use }: UpstreamClientOptions) {
    this.#session = session;
    this.#isWatched = use.length > 0;
    const capabilities = session?.capabilities ?? anything;
    const input: Answering = {
      capabilities,
      visitsPages: capabilities.elicitation?.url !== undefined,
      taskCapability: undefined,
      takesTasks: () => false,
      answer: (request, context) => this.#answer(request, context),
    };
    this.protocol = new ProtocolClient(wire, {
      declaration: new ClientDeclaration(info, input, undefined),
      input,
      log,
      clock,
      use,
      cache: false,
      // The gateway limits its calls itself.
      timeoutMs: Number.POSITIVE_INFINITY,
      probeMs: undefined,
      era,
    });
    // A gateway passes results on as they are.
    this.tools = new Tools(this.protocol, false, log);
    this.protocol.onNotified((method, params) => {
      if (method === "notifications/message") this.#logged(params);
    });
  }

  /** Runs a call of a client, which answers the questions that the server asks meanwhile. */
  async run(relayed: RelayedCall, forward: Forward): Promise<object> {
    this.#calls.add(relayed);
    try {
      return await forward(this, relayed, new RelayedInput(relayed));
    } finally {
      this.#calls.remove(relayed);
    }
  }

  /** The options of a request that lasts as long as a call of a client. */
  lasting({ ending }: RelayedCall): RequestOptions {
    // Middleware may read the signal.
    return this.#isWatched ? { signal: ending.signal } : { ending };
  }

  close(): Promise<void> {
    return this.protocol.close();
  }

  /** A legacy server does not say which call its request belongs to. */
  #answer(request: InputRequest, { signal }: InputContext): Promise<object> {
    const asked = this.#onlyCall();
    if (asked !== undefined) return asked.ask(request);
    const session = this.#session;
    if (session?.peer !== undefined) {
      return directRequester(session.peer, session, signal).ask(request, undefined);
    }
    // Servers ask for them when a client connects.
    if (request.method === "roots/list") return Promise.resolve({ roots: [] });
    const sentence = `the gateway cannot tell which of its clients ${request.method} is for`;
    return Promise.reject(new McpError(-32603, sentence));
  }

  /** The latest call, if all calls in progress are of one client. */
  #onlyCall(): RelayedCall | undefined {
    const calls = this.#calls.list();
    const owners = new Set(calls.map((each) => ownerOf(each.call) ?? each));
    return owners.size === 1 ? calls.at(-1) : undefined;
  }

  #logged({ level, data, logger }: Readonly<Record<string, unknown>>): void {
    const call = this.#onlyCall()?.call;
    call?.message(level as never, data, typeof logger === "string" ? logger : undefined);
  }
}

/** The client of a call: its session or its principal. */
function ownerOf(call: FeatureCall | undefined): unknown {
  return call?.caller.session ?? call?.principal?.id;
}
