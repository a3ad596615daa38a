import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { printable } from "callwire";
import { type Authorization, type Challenge, oauth, type TokenStore } from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { Terminal } from "../terminal.ts";
import type { Patience } from "./idle-timeout.ts";

/** How long a person may take. */
const limitMs = 10 * 60_000;

/** Signs in when a server wants it, not before: the person visits an address, and is awaited here. */
export class SignIn implements Authorization {
  readonly #store: TokenStore;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;
  /** Knows the tokens of before, and renews them. */
  readonly #kept: Authorization;
  #opened: Promise<{ readonly redirect: Redirect; readonly oauth: Authorization }> | undefined;

  constructor(store: TokenStore, patience: Patience, signal: AbortSignal) {
    this.#store = store;
    this.#patience = patience;
    this.#signal = signal;
    this.#kept = oauth({ store });
  }

  async token(url: string): Promise<string | undefined> {
    const { oauth: opened } = (await this.#opened) ?? {};
    return (opened ?? this.#kept).token(url);
  }

  async challenged(challenge: Challenge): Promise<boolean> {
    this.#opened ??= this.#open();
    return (await this.#opened).oauth.challenged(challenge);
  }

  async close(): Promise<void> {
    (await this.#opened?.catch(() => undefined))?.redirect.close();
  }

  async #open() {
    const before = await this.#store.get("port");
    const redirect = await Redirect.open(Number(before ?? 0));
    const authorize = (address: URL): Promise<URL> =>
      this.#patience.during(() => this.#visited(address, redirect));
    const { url: redirectUrl } = redirect;
    const store = registeredAt(redirect.port, this.#store);
    return { redirect, oauth: oauth({ redirectUrl, authorize, store, clientName: "callwire" }) };
  }

  async #visited(address: URL, redirect: Redirect): Promise<URL> {
    const arrived = redirect.next(address.searchParams.get("state") ?? undefined);
    const terminal = new Terminal(process.stderr);
    terminal.line("The server wants you to sign in. Visit this address in a browser:");
    terminal.line(terminal.cyan(printable(address.href)));
    const late = new Promise<never>((_, reject) => {
      const give = (): void => reject(new Failure("nobody signed in", { exitCode: 1 }));
      AbortSignal.any([this.#signal, AbortSignal.timeout(limitMs)]).addEventListener("abort", give);
    });
    return Promise.race([arrived, late]);
  }
}

/** Servers know a client by the port that it came with, so at another port it registers anew. */
function registeredAt(port: number, store: TokenStore): TokenStore {
  const isRegistration = (key: string): boolean => key.startsWith("client ");
  return {
    async get(key) {
      if (isRegistration(key) && (await store.get("port")) !== String(port)) return undefined;
      return store.get(key);
    },
    async set(key, value) {
      await store.set(key, value);
      if (isRegistration(key)) await store.set("port", String(port));
    },
    delete: (key) => store.delete(key),
  };
}

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
