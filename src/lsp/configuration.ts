import type { ConnectedClient } from "./connected-client.ts";
import { memberAt } from "./member-path.ts";
import type { DocumentUri } from "./model/structures.ts";

/** Most sections that are cached; stops a server that asks for each document from filling memory. */
const mostCached = 1_000;

/** The user's settings, which the client keeps. */
export class Configuration {
  readonly #client: ConnectedClient;
  readonly #cached = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  #isWatched = false;
  /** What the last `workspace/didChangeConfiguration` contained. */
  #pushed: unknown;

  constructor(client: ConnectedClient) {
    this.#client = client;
  }

  /**
   * The settings of a section such as `myLanguage.lint`, for one document or for all. Cached until they change; null
   * if there are none.
   */
  get<Settings = unknown>(section: string, scopeUri?: DocumentUri): Promise<Settings | null> {
    this.watch();
    const key = JSON.stringify([section, scopeUri]);
    const known = this.#cached.get(key) as Promise<Settings | null> | undefined;
    if (known !== undefined) return known;
    const settings = this.#request(section, scopeUri) as Promise<Settings | null>;
    if (this.#cached.size >= mostCached) this.#cached.clear();
    this.#cached.set(key, settings);
    // A failure is not cached, so that the next caller tries again.
    settings.catch(() => {
      if (this.#cached.get(key) === settings) this.#cached.delete(key);
    });
    return settings;
  }

  /** Runs after each change of any setting, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.watch();
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Some clients report changes only to servers that register for them. Internal. */
  watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    if (!this.#client.canRegister("workspace/didChangeConfiguration")) return;
    this.#client.register("workspace/didChangeConfiguration", {}).catch(() => {
      // The client then reports changes without it, or not at all.
    });
  }

  /** The client reported a change. Internal. */
  changed(settings: unknown): void {
    this.#pushed = settings;
    this.#cached.clear();
    for (const listener of this.#listeners) listener();
  }

  /** Clients that cannot be asked send all settings when they change. */
  async #request(section: string, scopeUri: DocumentUri | undefined): Promise<unknown> {
    if (this.#client.capabilities.workspace?.configuration !== true) {
      return memberAt(this.#pushed, section) ?? null;
    }
    const items = [{ section, ...(scopeUri !== undefined && { scopeUri }) }];
    const [settings = null] = await this.#client.request("workspace/configuration", { items });
    return settings;
  }
}
