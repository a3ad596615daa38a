import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { ErrorCode, WireError } from "../protocol/errors.ts";
import { Host } from "../protocol/host.ts";
import type { Link } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import { failure, isNotification, type Reply, type Request } from "../protocol/message.ts";
import type { Peer } from "../protocol/origin.ts";
import type { Running } from "../protocol/running.ts";
import type { TargetState } from "../protocol/target-state.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { noConnection, upstreamFailure } from "./failures.ts";
import { PartialResults } from "./progress-tokens.ts";
import { Relay, type RelaySettings, timeLeft } from "./relay.ts";
import type { Connect, UpstreamConfig } from "./upstream.ts";

interface TargetParts {
  readonly upstream: string;
  readonly name: string;
  readonly connect: Connect;
  readonly config: UpstreamConfig;
  readonly running: Running;
  readonly log: Log;
  /** Called when the target becomes available. */
  readonly returned: () => void;
  /** Called when a connection to the target was lost, or could not be opened. */
  readonly lost: (target: Target) => void;
}

/** One server behind the gateway. */
export class Target {
  readonly name: string;
  inFlight = 0;
  readonly #upstream: string;
  #calls = 0;
  #failures = 0;
  /** The result of the last health check. */
  #healthy = true;
  /** Whether the target has not answered since the gateway started; it may still be starting. */
  #unseen = false;
  /** The availability that was logged last. */
  #seemsThere = true;
  readonly #connect: Connect;
  readonly #perConnection: boolean;
  readonly #breaker: CircuitBreaker;
  readonly #clock: Clock;
  readonly #partial: PartialResults;
  readonly #log: Log;
  readonly #returned: () => void;
  readonly #lost: (target: Target) => void;
  /** A stream may last for days, so its first item already counts as an answer. */
  readonly #onActivity = (): void => this.#answered();
  #shared: Link | undefined;
  readonly #own = new Map<Peer, Link>();
  /** Links of callers that disconnected, which still hold a connection or a process until closed. */
  #closing = 0;
  readonly #maxOwn: number;
  #closed = false;

  constructor({ upstream, name, connect, config, running, log, ...told }: TargetParts) {
    const { clock } = running;
    this.#upstream = upstream;
    this.#returned = told.returned;
    this.#lost = told.lost;
    this.name = name;
    this.#connect = connect;
    this.#perConnection = config.per === "connection";
    this.#maxOwn = config.maxConnections ?? Number.POSITIVE_INFINITY;
    this.#breaker = new CircuitBreaker(clock, config.circuitBreaker);
    this.#clock = clock;
    this.#partial = new PartialResults(running);
    this.#log = log;
  }

  get available(): boolean {
    return this.seemsHealthy && this.#breaker.allowsCall;
  }

  /** Whether it may be called if no better target is available. */
  get seemsHealthy(): boolean {
    return !this.#closed && this.#healthy;
  }

  /** Whether it is available now. */
  get isUp(): boolean {
    return this.available && !this.#unseen;
  }

  get state(): TargetState {
    return {
      upstream: this.#upstream,
      target: this.name,
      up: this.isUp,
      inFlight: this.inFlight,
      calls: this.#calls,
      failures: this.#failures,
    };
  }

  /** The link that callers without their own share. */
  get link(): Link {
    if (this.#shared !== undefined) return this.#shared;
    const link = this.#connect();
    let wasOpen = false;
    link.states?.listen((state) => {
      if (wasOpen && state !== "open" && state !== "closed") this.#lost(this);
      wasOpen = state === "open";
    });
    this.#shared = link;
    return link;
  }

  /** Rejects if there is no reply: with a WireError, or with an unexpected error of the link. */
  async send(
    request: Request,
    context: Context,
    settings: RelaySettings,
  ): Promise<Reply | undefined> {
    if (!this.#hasRoomFor(context)) return failure(noConnection);
    this.inFlight++;
    this.#calls++;
    const begun = this.#breaker.begin();
    const partialToken = this.#partial.lend(request, endOf(context));
    const own = partialToken === undefined ? settings : { ...settings, partialToken };
    try {
      const link = this.#linkFor(context);
      const reply = await Relay.send(link, request, context, own, this.#onActivity);
      this.#answered();
      return reply;
    } catch (error) {
      if (exceededGatewayLimit(request, context)) this.#failed("the call took too long", begun);
      else if (error instanceof WireError && isTargetFault(error)) {
        this.#failed(error.message, begun);
        if (error.code === "CONNECTION_FAILED" || error.code === "CONNECTION_LOST")
          this.#lost(this);
      } else this.#breaker.forget(begun);
      throw error;
    } finally {
      this.#partial.giveBack(partialToken);
      this.inFlight--;
    }
  }

  /** Takes the result of a health check: why the target is not available, or undefined. */
  looked(failure: unknown, mayBeStarting: boolean): void {
    const isThere = failure === undefined;
    const isBack = isThere && !this.#healthy;
    this.#unseen = !isThere && (mayBeStarting || this.#unseen);
    // At first calls are tried anyway: servers that start with the gateway need a moment.
    this.#healthy = isThere || mayBeStarting;
    // Failures from before it was down no longer count.
    if (isBack) this.#breaker.succeed();
    this.#logAvailability(failure instanceof Error ? failure.message : `${failure}`);
  }

  #answered(): void {
    this.#breaker.succeed();
    this.#unseen = false;
    this.#logAvailability();
  }

  #failed(reason: string, begun: number): void {
    this.#failures++;
    this.#breaker.fail(begun);
    this.#logAvailability(reason);
  }

  /** Logs once that the target is down, and once that it is back. */
  #logAvailability(reason = ""): void {
    const isThere = this.#healthy && !this.#unseen && !this.#breaker.isOpen;
    if (isThere === this.#seemsThere || this.#closed) return;
    this.#seemsThere = isThere;
    const fields = { upstream: this.#upstream, target: this.name };
    if (isThere) {
      this.#log.warn(fields, "a target is available again");
      this.#returned();
    } else this.#log.warn({ ...fields, reason }, "a target is not available");
  }

  async close(): Promise<void> {
    this.#closed = true;
    const links = [...this.#own.values()];
    if (this.#shared !== undefined) links.push(this.#shared);
    this.#own.clear();
    await Promise.all(links.map((link) => link.close()));
  }

  #hasRoomFor(context: Context): boolean {
    if (this.#own.size + this.#closing < this.#maxOwn) return true;
    return !this.#perConnection || !staysConnected(context) || this.#own.has(endOf(context));
  }

  #linkFor(context: Context): Link {
    if (!this.#perConnection || !staysConnected(context)) return this.link;
    const peer = endOf(context);
    let link = this.#own.get(peer);
    if (link === undefined) {
      const release = (): void => this.#release(peer);
      link = this.#connect(this.#backTo(peer, release));
      this.#own.set(peer, link);
      void peer.closed.then(release);
    }
    return link;
  }

  /** Answers calls of a target by forwarding them to the caller; `lost` is called if the caller has disconnected. */
  #backTo(peer: Peer, lost: () => void): Host {
    return new Host(
      async (request, context) => {
        const { method } = request;
        if (isNotification(request)) {
          this.#push(peer, request, lost);
          return undefined;
        }
        const timeoutMs = timeLeft(request, context, this.#clock);
        try {
          return await Relay.send(peer, request, context, { method, timeoutMs, idempotent: false });
        } catch (error) {
          return failure(upstreamFailure(error));
        }
      },
      { log: this.#log },
    );
  }

  #push(peer: Peer, { method, params }: Request, lost: () => void): void {
    const isReport = method === "$/progress";
    const forwarded = isReport ? this.#partial.reportTo(peer, params) : (params ?? undefined);
    if (isReport && forwarded === undefined) return;
    // A caller that does not read is disconnected and delays no other.
    if (!peer.notify(method, forwarded) && !peer.canNotify) lost();
  }

  #release(peer: Peer): void {
    const link = this.#own.get(peer);
    if (link === undefined) return;
    this.#own.delete(peer);
    this.#closing++;
    link
      .close()
      .catch((error: unknown) => {
        const fields = { upstream: this.#upstream, target: this.name, err: error };
        this.#log.warn(fields, "a connection did not close");
      })
      .finally(() => this.#closing--);
  }
}

/** Whether the caller stays connected and can be called back, so that its own connection is useful. */
export function staysConnected({ transport, peer }: Context): boolean {
  return transport.kind !== "http" && peer.canNotify;
}

/** The peer of the caller, whichever payload brought this call. */
function endOf({ peer }: Context): Peer {
  return peer.end ?? peer;
}

/** Whether an error is a fault of the target and not of its caller. */
function isTargetFault({ code, status }: WireError): boolean {
  switch (code) {
    case "CONNECTION_FAILED":
    case "CONNECTION_LOST":
    case "BAD_REPLY":
      return true;
    case "HTTP_STATUS":
      return status === undefined || status >= 500;
    default:
      return false;
  }
}

/** Whether the target took longer than the gateway allows; a caller's shorter timeout does not count. */
function exceededGatewayLimit(request: Request, context: Context): boolean {
  return (
    context.ended?.code === ErrorCode.RequestTimeout &&
    request.timeoutMs === undefined &&
    context.transport.timeoutMs === undefined
  );
}
