import cluster from "node:cluster";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Service } from "../../protocol/service.ts";
import { isSharedPage, type SharedPage } from "../../protocol/shared-page.ts";
import type { NodeHandler } from "../../transports/http/node-handler.ts";
import type { ServeHttpOptions } from "../http-options.ts";
import { isOurs, type PrimaryMessage, portVariable, type WorkerMessage } from "./messages.ts";

/** How long open connections may take to move to another worker before calls on them are refused. */
const retireMs = 1_000;

/** The HTTP server of a worker. */
interface WorkerServer {
  readonly port: number;
  retire(mostMs: number): Promise<void>;
  close(): Promise<void>;
}

/** A service that can be closed, as servers and gateways can. */
type ClosableService = Service & { close?(options: { drainMs?: number }): Promise<void> };

/** One of the processes that share a port. */
export class HttpWorker {
  readonly #service: ClosableService;
  readonly #pages = new Map<string, SharedPage>();
  readonly #gathering = new Map<number, (values: readonly unknown[]) => void>();
  #lastId = 0;
  #http: WorkerServer | undefined;

  constructor(service: ClosableService) {
    this.#service = service;
  }

  /** The same options, with pages that are about all workers. */
  options(options: ServeHttpOptions): ServeHttpOptions {
    const mounts = Object.entries(options.mounts ?? {}).map(([path, mount]) => {
      if (!isSharedPage(mount)) return [path, mount] as const;
      this.#pages.set(path, mount);
      return [path, this.#gathered(path, mount)] as const;
    });
    const port = process.env[portVariable];
    return {
      ...options,
      ...(port === undefined ? undefined : { port: Number(port) }),
      mounts: Object.fromEntries(mounts),
    };
  }

  /** Reports to the primary that it is ready, and acts on its messages. */
  serve(http: WorkerServer): void {
    this.#http = http;
    process.on("message", (message: unknown) => {
      if (isOurs(message)) this.#receive(message as PrimaryMessage);
    });
    // Without its primary nothing would stop this process.
    process.once("disconnect", () => void this.#end());
    void this.#send({ callwire: "ready", port: http.port });
  }

  #receive(message: PrimaryMessage): void {
    const { callwire } = message;
    if (callwire === "stop") void this.#end(message.drainMs);
    else if (callwire === "gathered") this.#gathering.get(message.id)?.(message.values);
    else {
      const { path, id } = message;
      const value = this.#pages.get(path)?.snapshot();
      void this.#send({ callwire: "snapshot", path, id, value });
    }
  }

  async #end(drainMs?: number): Promise<void> {
    await this.#http?.retire(retireMs);
    await this.#service.close?.(drainMs === undefined ? {} : { drainMs });
    await this.#http?.close();
    const pages = Array.from(this.#pages, ([path, page]) => [path, page.snapshot()]);
    await this.#send({ callwire: "last", pages: Object.fromEntries(pages) });
    process.exit(0);
  }

  #gathered(path: string, page: SharedPage): NodeHandler {
    // One at a time, because each takes time of all workers, whoever asks for the page.
    let gathering: Promise<readonly unknown[]> | undefined;
    return async (request: IncomingMessage, response: ServerResponse) => {
      gathering ??= this.#gather(path).finally(() => {
        gathering = undefined;
      });
      page.show(page.merged(await gathering), request, response);
    };
  }

  async #gather(path: string): Promise<readonly unknown[]> {
    const id = ++this.#lastId;
    const values = await new Promise<readonly unknown[]>((resolve) => {
      this.#gathering.set(id, resolve);
      void this.#send({ callwire: "gather", path, id });
    });
    this.#gathering.delete(id);
    return values;
  }

  #send(message: WorkerMessage): Promise<void> {
    const { worker } = cluster;
    if (worker === undefined || !worker.isConnected()) return Promise.resolve();
    return new Promise((resolve) => {
      worker.process.send?.(message, undefined, undefined, () => resolve());
    });
  }
}
