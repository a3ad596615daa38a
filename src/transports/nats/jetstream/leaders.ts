import type { Log } from "../../../protocol/log.ts";
import type { NatsConnection, Subscription } from "../client-library.ts";
import { isForbidden, unavailableCode } from "../engine-errors.ts";
import { type JetStreamManager, jetstreamManager } from "./client-library.ts";

/** A stream, and the consumer that hands out what is in it. */
export interface Lane {
  readonly stream: string;
  readonly consumer: string;
}

/** By then links have come back from the spare stream, so that moving a leader is in nobody's way. */
const calmMs = 20_000;
/** By then who was moved leads from another node. */
const movedMs = 1_000;
/** So often one after the other; where the nodes go on choosing badly, there is time. */
const mostMoves = 10;

/**
 * Keeps those who lead apart. A node that dies takes what it leads with it until the others have elected, for
 * some seconds; so one node leads the stream and its consumer, and others lead the spare ones. Whichever node
 * dies, one of the two goes on.
 */
export class Leaders {
  readonly #connection: NatsConnection;
  readonly #log: Log;
  readonly #home: Lane;
  readonly #spare: Lane;
  readonly #subscriptions: readonly Subscription[];
  #next: NodeJS.Timeout | undefined;
  /** Moves that may follow each other at once: when it starts, and not when links are about to send. */
  #quickMoves = mostMoves;
  #isStopped = false;

  constructor(connection: NatsConnection, log: Log, home: Lane, spare: Lane) {
    this.#connection = connection;
    this.#log = log;
    this.#home = home;
    this.#spare = spare;
    const elections = [home, spare].flatMap(({ stream, consumer }) => [
      `STREAM.LEADER_ELECTED.${stream}`,
      `CONSUMER.LEADER_ELECTED.${stream}.${consumer}`,
    ]);
    this.#subscriptions = elections.map((election) =>
      connection.subscribe(`$JS.EVENT.ADVISORY.${election}`, {
        // One worker looks at each.
        queue: "callwire",
        callback: (error) => (error === null ? this.#elected() : this.#tell(error)),
      }),
    );
    this.#lookIn(0);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#next);
    if (this.#connection.isClosed()) return;
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #elected(): void {
    if (this.#next === undefined) this.#lookIn(calmMs);
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#next);
    if (this.#isStopped) return;
    this.#next = setTimeout(() => {
      this.#next = undefined;
      void this.#part();
    }, ms).unref();
  }

  /** Moves one of them, if two are where one should be, and looks again. */
  async #part(): Promise<void> {
    try {
      const order = await this.#order();
      if (order === undefined) {
        this.#quickMoves = 0;
        return;
      }
      const reply = await this.#connection.request(`$JS.API.${order}`);
      const { error } = reply.json<StepDownReply>();
      if (error === undefined || error.err_code === unavailableCode) {
        this.#lookIn(this.#quickMoves-- > 0 ? movedMs : calmMs);
      } else this.#tell(new Error(error.description));
    } catch (error) {
      if (this.#connection.isClosed()) return;
      if (isForbidden(error)) this.#tell(error as Error);
      // Nobody answers for what is electing, or was moved by another worker just now.
      else this.#lookIn(calmMs);
    }
  }

  /** What has to be said to the engine, if anything. Who leads then is its choice. */
  async #order(): Promise<string | undefined> {
    const manager = await jetstreamManager(this.#connection, { checkAPI: false });
    const [home, spare] = await Promise.all([
      leadersOf(manager, this.#home),
      leadersOf(manager, this.#spare),
    ]);
    // Moving a stream costs its senders an attempt; moving a consumer, those at work are handed out anew.
    if (home.stream !== home.consumer) return `STREAM.LEADER.STEPDOWN.${this.#home.stream}`;
    // Of one node alone.
    if (home.stream === undefined) return undefined;
    if (spare.stream === home.stream) return `STREAM.LEADER.STEPDOWN.${this.#spare.stream}`;
    if (spare.consumer !== home.stream) return undefined;
    return `CONSUMER.LEADER.STEPDOWN.${this.#spare.stream}.${this.#spare.consumer}`;
  }

  #tell(error: Error): void {
    const streams = [this.#home.stream, this.#spare.stream];
    const sentence = "this worker cannot keep those apart who lead the two streams";
    this.#log.warn({ streams, why: error.message }, sentence);
  }
}

interface StepDownReply {
  readonly error?: { readonly err_code: number; readonly description: string };
}

async function leadersOf(
  manager: JetStreamManager,
  { stream, consumer }: Lane,
): Promise<{ readonly stream: string | undefined; readonly consumer: string | undefined }> {
  const [kept, handed] = await Promise.all([
    manager.streams.info(stream),
    manager.consumers.info(stream, consumer),
  ]);
  const isKeptTwice = kept.cluster?.replicas !== undefined;
  return isKeptTwice
    ? { stream: kept.cluster?.leader, consumer: handed.cluster?.leader }
    : { stream: undefined, consumer: undefined };
}
