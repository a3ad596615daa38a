import type { IncomingMessage, ServerResponse } from "node:http";
import { whenClosed } from "../http/node-event-sink.ts";
import type { Log } from "../protocol/log.ts";
import { isThenable } from "../protocol/message.ts";
import type { NodeHandler } from "../transports/http/node-handler.ts";

/** Handlers of requests by path; one at a path that ends with a slash gets all requests below it. */
export class Handlers {
  readonly #exact = new Map<string, NodeHandler>();
  /** Longest first, so that the nearest one answers. */
  readonly #below: [path: string, handler: NodeHandler][] = [];
  /** Responses that have not ended. */
  readonly #open = new Set<ServerResponse>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  add(path: string, handler: NodeHandler): void {
    if (!path.startsWith("/")) throw new TypeError(`the path "${path}" must begin with a slash`);
    if (!path.endsWith("/")) this.#exact.set(path, handler);
    else {
      this.#below.push([path, handler]);
      this.#below.sort(([a], [b]) => b.length - a.length);
    }
  }

  run(handler: NodeHandler, request: IncomingMessage, response: ServerResponse): void {
    this.#open.add(response);
    whenClosed(response, () => this.#open.delete(response));
    // A handler that throws or rejects fails its own request, not the process.
    const failed = (error: unknown): void => {
      this.#log.error({ err: error }, "an HTTP handler failed");
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    };
    try {
      const done: unknown = handler(request, response);
      if (isThenable(done)) done.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Resolves when every response has begun, and the handlers have no calls running. */
  async idle(): Promise<void> {
    const waiting = [...this.#open].filter(({ headersSent }) => !headersSent);
    const known = [...this.#exact.values(), ...this.#below.map(([, handler]) => handler)];
    await Promise.all([
      ...waiting.map((each) => new Promise<void>((resolve) => whenClosed(each, resolve))),
      ...known.map((handler) => handler.idle?.()),
    ]);
  }

  at(path: string): NodeHandler | undefined {
    return this.#exact.get(path) ?? this.#below.find(([place]) => path.startsWith(place))?.[1];
  }
}
