/**
 * Anything that passes messages: a MessagePort, a Worker, the scope of a worker, a
 * BroadcastChannel with one peer, in browsers as in Node's `worker_threads`.
 */
export interface Port {
  postMessage(message: unknown): void;
  /** Browsers, Deno, Bun. */
  addEventListener?(type: string, listener: (event: never) => void): void;
  /** Node. */
  on?(type: string, listener: (value: never) => void): unknown;
  /** A MessagePort delivers nothing until it is started. */
  start?(): void;
  close?(): void;
  /** A Worker, seen from outside. */
  terminate?(): unknown;
}

export interface PortListener {
  /** What was posted, a string or not. */
  data(value: unknown): void;
  unreadable(): void;
  end(error?: Error): void;
}

/** Ports tell of themselves as Node's emitters or as event targets; this hears both alike. */
export function listenTo(port: Port, listener: PortListener): void {
  if (port.on !== undefined) listenInNode(port as Port & Required<Pick<Port, "on">>, listener);
  else if (port.addEventListener !== undefined) {
    listenInBrowser(port as Port & Required<Pick<Port, "addEventListener">>, listener);
  } else throw new TypeError("a port has addEventListener or on");
  port.start?.();
}

function listenInNode(port: Required<Pick<Port, "on">>, listener: PortListener): void {
  port.on("message", (value: unknown) => listener.data(value));
  port.on("messageerror", () => listener.unreadable());
  port.on("error", (error: Error) => listener.end(error));
  port.on("exit", (code: number) => listener.end(new Error(`the worker exited with code ${code}`)));
  port.on("close", () => listener.end());
}

function listenInBrowser(
  port: Required<Pick<Port, "addEventListener">>,
  listener: PortListener,
): void {
  port.addEventListener("message", ({ data }: { data: unknown }) => listener.data(data));
  port.addEventListener("messageerror", () => listener.unreadable());
  // A worker whose script does not load says so here, and never anything else.
  port.addEventListener("error", ({ message }: { message?: string }) =>
    listener.end(new Error(message ?? "the worker failed")),
  );
  port.addEventListener("close", () => listener.end());
}
