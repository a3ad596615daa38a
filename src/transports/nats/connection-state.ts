import type { Log } from "../../protocol/log.ts";
import type { NatsConnection, PermissionViolationError } from "./client-library.ts";

export interface StateListener {
  /** The connection broke and will be made again; replies that come meanwhile are lost. */
  lost?(): void;
  /** The connection is there again. */
  restored?(): void;
  /** A node of the cluster is gone, and with it what was on its way through it. */
  nodeGone?(): void;
  /** The connection is gone for good. */
  ended?(error: Error | undefined): void;
  /** This user may not send there. Says whether that was a call of the listener's, who is told of it. */
  forbidden?(subject: string): boolean;
  /** The same where it was nobody's call. */
  dropped?(subject: string): void;
}

const states = new WeakMap<NatsConnection, ConnectionState>();

/** Follows what happens to a connection, once for all that use it. */
export class ConnectionState {
  /** While it is down, what is published goes nowhere. */
  down = false;
  readonly listeners = new Set<StateListener>();

  static of(connection: NatsConnection): ConnectionState {
    const known = states.get(connection);
    if (known !== undefined) return known;
    const state = new ConnectionState();
    state.down = isAway(connection);
    states.set(connection, state);
    void state.#follow(connection);
    void connection.closed().then((error) => {
      state.down = true;
      for (const listener of state.listeners) listener.ended?.(error ?? undefined);
    });
    return state;
  }

  /** Waits for something of the engine, but not for one that is gone: the client would wait for ever. */
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

  /**
   * Says in the log what keeps a worker on it from serving: that it is gone for good, and once that replies are not let
   * through. What is returned ends that.
   */
  report(log: Log, subject: string): () => void {
    let hasToldOfDrops = false;
    const listener: StateListener = {
      dropped(where) {
        if (hasToldOfDrops) return;
        hasToldOfDrops = true;
        const sentence = `this user of NATS may not publish to ${where}; what goes there is lost, replies too`;
        log.error({ subject }, sentence);
      },
      ended(error) {
        const what = "this worker serves no more";
        if (error === undefined)
          log.warn({ subject }, `the connection to NATS was closed; ${what}`);
        else {
          const sentence = `the connection to NATS closed for good: ${error.message}; ${what}`;
          log.error({ err: error, subject }, sentence);
        }
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
        // The client itself tells of nodes only that it was not given by name.
        const before = nodes;
        nodes = connection.info?.connect_urls ?? [];
        if (before.every((node) => nodes.includes(node))) continue;
        for (const listener of this.listeners) listener.nodeGone?.();
      } else if (status.type === "error" && isViolation(status.error)) {
        const { operation, subject } = status.error;
        if (operation !== "publish") continue;
        const listeners = [...this.listeners];
        // Each of them has to hear it, also those behind one whose call it was.
        if (listeners.filter((listener) => listener.forbidden?.(subject)).length > 0) continue;
        for (const listener of listeners) listener.dropped?.(subject);
      }
    }
  }
}

/** Whether it is just being made again. Its type does not tell, and of what was before nobody tells. */
function isAway(connection: NatsConnection): boolean {
  const { protocol } = connection as { protocol?: { readonly connected?: boolean } };
  return protocol?.connected === false;
}

/** By its name: the one who connected may have another copy of NATS's client than we have. */
export function isViolation(error: unknown): error is PermissionViolationError {
  return (error as Error | undefined)?.name === "PermissionViolationError";
}
