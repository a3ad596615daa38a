import {
  type Client,
  type CloseOptions,
  createClient,
  createServer,
  type Link,
  type Methods,
  type Service,
  silentLog,
} from "callwire";
import { onTestFinished } from "vitest";
import {
  type ContractMethods,
  clientMethods,
  type Fixture,
  serverOf,
} from "../contract-methods.ts";
import type { Inbox } from "./inbox.ts";

/** What a transport tells the contract about its wire. */
export interface Wire extends WireTraits {
  /** Serves `serverOf(fixture)`, in this process or in another. */
  start(fixture: Fixture): Promise<Host>;
}

/** A wire on which this process can serve anything: a server, or a gateway with others behind it. */
export interface Front extends WireTraits {
  serve(service: Served): Promise<Host>;
}

export interface Served extends Service {
  close(options?: CloseOptions): Promise<void>;
}

/** A front with nothing but a server on it. */
export function serving(front: Front): Wire {
  return { ...front, start: (fixture) => front.serve(serverOf(fixture)) };
}

export interface WireTraits {
  /** Whether the server reaches its client: it calls back and pushes. Plain HTTP cannot. @default true */
  readonly duplex?: boolean;
  /**
   * What stops the producer of a stream: the credit of its reader, or only full buffers. "none" if
   * the wire carries no streams. @default "credit"
   */
  readonly streams?: "credit" | "buffers" | "none";
  /** The same for what a client uploads. @default "credit" on duplex wires, "none" on others */
  readonly uploads?: "credit" | "buffers" | "none";
  /** Whether bytes travel beside messages, so that their length does not count as that of a message. @default false */
  readonly beside?: boolean;
  /** What a message over the limit leads to: an error and nothing else, or an error and the end. @default "answer" */
  readonly oversize?: "answer" | "cut";
  /** Whether several clients reach one server; with stdio each client has its own. @default true */
  readonly shared?: boolean;
  /**
   * Whether raw peers can send bytes that are not UTF-8, and the server continues after them.
   * @default false
   */
  readonly bytes?: boolean;
  /** What endless garbage leads to: an end, or as many answers. @default "cut" */
  readonly garbage?: "answer" | "cut";
  /** Whether the wire knows how much its peer has not read. @default true */
  readonly measured?: boolean;
  /** How many connections stand between a producer and its reader, each with buffers. @default 1 */
  readonly hops?: number;
  /** How many concurrent calls the wire is tested with. @default 1000 */
  readonly inFlight?: number;
  /** Titles of exchanges in the transcripts that the wire cannot carry unchanged. */
  readonly except?: readonly string[];
}

/** Lines cannot carry an empty message. */
export const blankLine = ["An empty text is a parse error"];

/** A running server, and the ways to connect to it. */
export interface Host {
  /**
   * A new client. It must not reconnect, or a dead server would look like a slow one. The service
   * answers the calls of the server.
   */
  connect(service?: Service): Promise<ClientEnd> | ClientEnd;
  /** A client that is only a wire: it sends and receives raw messages. Duplex wires have it. */
  raw?(): Promise<RawEnd> | RawEnd;
  /** Sends one payload and returns its answer, or undefined for none. One-way wires have it. */
  exchange?(text: string): Promise<string | undefined>;
  /** As `server.close()`: what runs finishes, then everything closes. */
  close(): Promise<void>;
  /**
   * Kills the server at once, without a closing message. May be called twice, and after `close`.
   */
  kill(): Promise<void> | void;
}

export interface ClientEnd {
  readonly link: Link;
  /** Kills the client at once, without a closing message, as when its process is killed. */
  kill(): void;
}

export interface RawEnd {
  /** Sends one message; a framing puts its frame around it. */
  send(text: string): void;
  /** The same with bytes that need not be UTF-8; for wires with `bytes`. */
  sendBytes?(body: Uint8Array): void;
  readonly inbox: Inbox;
  /** Stops reading, so that the wire fills up. */
  pause(): void;
  /** Gone at once. */
  kill(): void;
}

/** A running server with clients that are closed after the test. */
export class Session {
  readonly wire: Wire;
  readonly host: Host;

  private constructor(wire: Wire, host: Host) {
    this.wire = wire;
    this.host = host;
  }

  static async start(wire: Wire, limits: Fixture["limits"] = {}): Promise<Session> {
    const host = await wire.start({ profile: "contract", limits });
    onTestFinished(async () => {
      await host.kill();
    });
    return new Session(wire, host);
  }

  /** A new client with methods of its own. */
  async connect(
    methods: Methods = {},
  ): Promise<ClientEnd & { readonly client: Client<ContractMethods> }> {
    const service = createServer(clientMethods(methods), { log: silentLog });
    const end = await this.host.connect(service);
    onTestFinished(() => end.kill());
    return { ...end, client: createClient<ContractMethods>(end.link) };
  }

  async client(methods?: Methods): Promise<Client<ContractMethods>> {
    return (await this.connect(methods)).client;
  }

  async raw(): Promise<RawEnd> {
    if (this.host.raw === undefined) throw new TypeError("a duplex wire needs raw()");
    const raw = await this.host.raw();
    onTestFinished(() => raw.kill());
    return raw;
  }
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}
