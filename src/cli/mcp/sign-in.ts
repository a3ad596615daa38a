import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { printable } from "callwire";
import { type Authorization, type Challenge, oauth, type TokenStore } from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { listenOnLoopback } from "../host-names.ts";
import { Terminal } from "../terminal.ts";
import type { IdleTimeout } from "./idle-timeout.ts";

/** Time limit for the user. */
const limitMs = 10 * 60_000;

/** Signs in when a server requires it: the user visits an address in a browser. */
export class SignIn implements Authorization {
  readonly #store: TokenStore;
  readonly #idle: IdleTimeout;
  readonly #signal: AbortSignal;
  /** Uses and renews stored tokens. */
  readonly #kept: Authorization;
  #opened: Promise<{ readonly redirect: Redirect; readonly oauth: Authorization }> | undefined;

  constructor(store: TokenStore, idle: IdleTimeout, signal: AbortSignal) {
    this.#store = store;
    this.#idle = idle;
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
      this.#idle.pausedDuring(() => this.#visited(address, redirect));
    const { url: redirectUrl } = redirect;
    const store = registeredAt(redirect.port, this.#store);
    return { redirect, oauth: oauth({ redirectUrl, authorize, store, clientName: "callwire" }) };
  }

  async #visited(address: URL, redirect: Redirect): Promise<URL> {
    const arrived = redirect.next(address.searchParams.get("state") ?? undefined);
    const terminal = new Terminal(process.stderr);
    terminal.line("The server requires you to sign in. Open this address in a browser:");
    terminal.line(terminal.cyan(printable(address.href)));
    const late = new Promise<never>((_, reject) => {
      const give = (): void =>
        reject(new Failure("the sign-in was not completed", { exitCode: 1 }));
      AbortSignal.any([this.#signal, AbortSignal.timeout(limitMs)]).addEventListener("abort", give);
    });
    return Promise.race([arrived, late]);
  }
}

/** A registration includes the port, so another port needs a new one. */
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

/** A local server for the redirect of a sign-in. */
export class Redirect {
  readonly #server: Server;
  #state: string | undefined;
  #arrived: (url: URL) => void = () => {};

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      // The request target may not be a valid URL.
      const [path, query = ""] = (request.url ?? "").split("?", 2);
      const url = new URL(`?${query}`, this.url);
      // Other pages can redirect here too, but do not know the state.
      const state = url.searchParams.get("state") ?? undefined;
      const isExpected = request.method === "GET" && path === "/callback" && state === this.#state;
      const text = isExpected ? outcomeIn(url) : "Not found.";
      response.writeHead(isExpected ? 200 : 404, {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        connection: "close",
      });
      response.end(`${text}\n`);
      if (isExpected) this.#arrived(url);
    });
  }

  /** Prefers the previous port, because servers may have registered it. */
  static async open(port: number): Promise<Redirect> {
    const server = createServer();
    await listenOnLoopback(server, port).catch(() => listenOnLoopback(server, 0));
    return new Redirect(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/callback`;
  }

  /** Resolves with the URL of the redirect that has this state. */
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
    ? "You are signed in. You can close this page and return to the terminal."
    : "You were not signed in. The terminal shows the reason.";
}
