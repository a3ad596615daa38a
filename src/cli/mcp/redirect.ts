import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Where a browser brings the outcome of a sign-in: a server on this machine, for this one page. */
export class Redirect {
  readonly #server: Server;
  #state: string | undefined;
  #arrived: (url: URL) => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      // Not read as a URL, which this may not be.
      const [path, query = ""] = (request.url ?? "").split("?", 2);
      const url = new URL(`?${query}`, this.url);
      // Any page can have a browser come here, but none knows the state of the sign-in.
      const state = url.searchParams.get("state") ?? undefined;
      const isMeant = request.method === "GET" && path === "/callback" && state === this.#state;
      const text = isMeant ? outcomeIn(url) : "There is nothing here.";
      response.writeHead(isMeant ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        connection: "close",
      });
      response.end(`${text}\n`);
      if (isMeant) this.#arrived(url);
    });
  }

  /** On the port of before, if it is free; servers may know the client by it. */
  static async open(port: number): Promise<Redirect> {
    const server = createServer();
    const listening = (on: number): Promise<void> =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(on, "127.0.0.1", () => {
          server.off("error", reject);
          resolve();
        });
      });
    await listening(port).catch(() => listening(0));
    return new Redirect(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`;
  }

  /** The address that the browser comes with from a sign-in, which is known by its state. */
  next(state: string | undefined): Promise<URL> {
    return new Promise((resolve) => {
      this.#state = state;
      this.#arrived = resolve;
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function outcomeIn({ searchParams }: URL): string {
  return searchParams.has("code")
    ? "You are signed in. You can close this page and go back to the terminal."
    : "You were not signed in. The terminal says why.";
}
