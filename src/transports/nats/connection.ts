import { WireError } from "../../protocol/errors.ts";
import type { Log } from "../../protocol/log.ts";
import { LateError } from "../../protocol/waiting.ts";
import type { NatsConnection, PermissionViolationError } from "./client-library.ts";

export interface StateListener {
  /** The connection broke and will be made again; replies that arrive meanwhile are lost. */
  lost?(): void;
  restored?(): void;
  /** A node of the cluster left, and messages that were passing through it are lost. */
  nodeGone?(): void;
  /** The connection was closed for good. */
  ended?(error: Error | undefined): void;
  /** NATS refused a publish to this subject. Returns whether the listener reported that to its caller. */
  forbidden?(subject: string): boolean;
  /** NATS refused a publish that no listener has reported. */
  dropped?(subject: string): void;
}

const states = new WeakMap<NatsConnection, ConnectionState>();

/** Follows the status of a connection, once for everything that uses it. */
export class ConnectionState {
  /** While the connection is down, nothing can be published. */
  down: boolean;
  readonly listeners = new Set<StateListener>();

  private constructor(connection: NatsConnection) {
    states.set(connection, this);
    // Missing in the type, and the status events do not cover what happened before.
    const { protocol } = connection as { protocol?: { readonly connected?: boolean } };
    this.down = protocol?.connected === false;
    void this.#follow(connection);
    void connection.closed().then((error) => {
      this.down = true;
      for (const listener of this.listeners) listener.ended?.(error ?? undefined);
    });
  }

  static of(connection: NatsConnection): ConnectionState {
    return states.get(connection) ?? new ConnectionState(connection);
  }

  /** Waits for nats-server, but not beyond the loss of the connection: NATS's client would wait forever. */
  orGone(waiting: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.listeners.delete(listener);
        resolve();
      };
      const listener: StateListener = { lost: done, ended: done };
      this.listeners.add(listener);
      waiting.then(done, done);
      if (this.down) done();
    });
  }

  /** Logs what stops a worker from serving: the first refused reply, and the end of the connection. Returns a function that stops it. */
  report(log: Log, subject: string): () => void {
    let hasLoggedDrop = false;
    const listener: StateListener = {
      dropped(where) {
        if (hasLoggedDrop) return;
        hasLoggedDrop = true;
        const message = `this NATS user may not publish to ${where}; replies to it are lost`;
        log.error({ subject }, message);
      },
      ended(err) {
        const message = "connection to NATS was closed; this worker no longer serves";
        if (err === undefined) log.warn({ subject }, message);
        else log.error({ err, subject }, `${message}: ${err.message}`);
      },
    };
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  async #follow(connection: NatsConnection): Promise<void> {
    let nodes = connection.info?.connect_urls ?? [];
    for await (const status of connection.status()) {
      if (status.type === "disconnect") {
        this.down = true;
        for (const listener of this.listeners) listener.lost?.();
      } else if (status.type === "reconnect") {
        this.down = false;
        for (const listener of this.listeners) listener.restored?.();
      } else if (status.type === "update") {
        // The event itself leaves out nodes whose address was passed to connect().
        const before = nodes;
        nodes = connection.info?.connect_urls ?? [];
        if (before.every((node) => nodes.includes(node))) continue;
        for (const listener of this.listeners) listener.nodeGone?.();
      } else if (status.type === "error" && isViolation(status.error)) {
        const { operation, subject } = status.error;
        if (operation === "publish") this.#refused(subject);
      }
    }
  }

  #refused(subject: string): void {
    const listeners = [...this.listeners];
    const claims = listeners.map((listener) => listener.forbidden?.(subject));
    if (!claims.includes(true)) for (const listener of listeners) listener.dropped?.(subject);
  }
}

export function requireOpen(connection: NatsConnection): void {
  const state = connection.isClosed() ? "closed" : connection.isDraining() ? "closing" : undefined;
  if (state === undefined) return;
  throw new WireError("CONNECTION_FAILED", `the connection to NATS is ${state}`);
}

export function maxBytesOf({ info }: NatsConnection): number {
  return info?.max_payload ?? 1024 * 1024;
}

export function tooLarge(connection: NatsConnection, cause?: unknown): WireError {
  const message = `the message is longer than the ${maxBytesOf(connection)} bytes that NATS accepts`;
  return new WireError("TOO_LARGE", message, { cause });
}

/** Headers count too, and only NATS's client knows how long they are. */
export function isTooLarge(error: unknown): boolean {
  const { name, message } = error as Error;
  return name === "InvalidArgumentError" && message.includes("max_payload");
}

/** Compared by name, because the program may have another copy of NATS's client. */
function isViolation(error: unknown): error is PermissionViolationError {
  return (error as Error | undefined)?.name === "PermissionViolationError";
}

/** The request failed because this user may not publish there. */
export function isForbidden(error: unknown): boolean {
  return isViolation((error as Error | undefined)?.cause);
}

/** Nobody subscribes to the subject. NATS's client reports that as JetStream being off, unless there are two copies of it. */
export function isNoResponders(error: unknown): boolean {
  const { name, cause } = error as Error;
  return name === "JetStreamNotEnabled" || (cause as Error | undefined)?.name === "NoResponders";
}

/** After this time a request to JetStream counts as lost: a node that dies never answers. */
export const requestMs = 2_000;

/** JetStream's error code for a stream or cluster that is temporarily unavailable. */
export const unavailableCode = 10_008;

/** An election takes 4 to 9 seconds, and longer after a draw; after this time callers stop waiting for it. */
export const electionPatienceMs = 20_000;

/** The request may succeed later, such as after an election. */
export function isTemporary(error: unknown): boolean {
  const { name, code } = error as Error & { readonly code?: unknown };
  const isLate = error instanceof LateError || name === "TimeoutError";
  return isLate || isNoResponders(error) || code === unavailableCode;
}
