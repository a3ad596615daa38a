import { printable } from "callwire";
import { type Authorization, type Challenge, oauth, type TokenStore } from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { Terminal } from "../terminal.ts";
import type { Patience } from "./patience.ts";
import { Redirect } from "./redirect.ts";

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
