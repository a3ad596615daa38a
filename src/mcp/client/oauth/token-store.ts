import type { MaybePromise } from "../../../protocol/message.ts";

/** Keeps what authorization brought, such as in a file, a keychain or a `Map`. The texts hold secrets. */
export interface TokenStore {
  get(key: string): MaybePromise<string | undefined>;
  set(key: string, value: string): MaybePromise<unknown>;
  delete(key: string): MaybePromise<unknown>;
}

/** A token and what it takes to renew it. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
  /** The scopes that it was asked for or given. */
  readonly scope: string | undefined;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly resource: string | undefined;
}

/** How a client is known to an authorization server. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly authMethod: string;
}

/** What is kept under a key, or undefined where it is not what it should be. */
export async function readKept<T extends object>(
  store: TokenStore,
  key: string,
): Promise<T | undefined> {
  const kept = await store.get(key);
  if (kept === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(kept);
    return typeof value === "object" && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
