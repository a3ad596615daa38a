/** API keys: an id and a secret; the server stores only a hash of the secret. @module callwire/security/keys */
import { hash, randomBytes } from "node:crypto";
import { type ErrorObject, isThenable, type MaybePromise } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { type Refusal, unauthenticated } from "./access-errors.ts";
import { equalSecrets } from "./bearer.ts";
import type { Credential } from "./credential.ts";

/** What a server stores of a key; nothing in it is secret. */
export interface ApiKeyRecord {
  readonly id: string;
  /** SHA-256 of the secret, as base64url. */
  readonly hash: string;
  /** The principal of callers with this key. @default one with the id of the key */
  readonly principal?: Principal;
  /** Not valid before this date; a string must be ISO 8601. @default no limit */
  readonly notBefore?: Date | string;
  /** Not valid from this date on. @default no limit */
  readonly notAfter?: Date | string;
}

export interface ApiKey {
  /** What the caller sends, `<id>.<secret>`. Show it once and do not store it. */
  readonly key: string;
  /** What the server stores. */
  readonly record: ApiKeyRecord;
}

export interface CreateApiKeyOptions {
  /** Names the key: 1 to 64 letters, digits, underscores or hyphens. @default a random id */
  readonly id?: string;
  /** The principal of callers with this key. @default one with the id of the key */
  readonly principal?: Principal;
  /** Not valid from this date on. @default no limit */
  readonly notAfter?: Date | string;
}

const idPattern = /^[\w-]{1,64}$/;
const keyPattern = /^[\w-]{1,64}\.[\w-]{43}$/;
/** 256 bits as base64url. */
const secretLength = 43;
/** Most verified keys that are remembered per connection; only proxies send several. */
const mostKeys = 16;

/**
 * Makes a key whose secret has 256 random bits.
 * @example
 * ```ts
 * import { createApiKey } from "callwire/security/keys";
 *
 * const { key, record } = createApiKey({ id: "ci", notAfter: "2030-01-01" });
 * console.log(key); // for the caller, and shown only now
 * console.log(JSON.stringify(record)); // for the server's database
 * ```
 */
export function createApiKey(options: CreateApiKeyOptions = {}): ApiKey {
  const { id = `key_${randomBytes(9).toString("base64url")}`, ...rest } = options;
  if (!idPattern.test(id)) {
    throw new TypeError(
      `"id" of a key must have 1 to 64 letters, digits, underscores or hyphens, not "${id}"`,
    );
  }
  const secret = randomBytes(32).toString("base64url");
  return {
    key: `${id}.${secret}`,
    record: { id, hash: hash("sha256", secret, "base64url"), ...rest },
  };
}

const unknownApiKey: Refusal = {
  ...unauthenticated("the API key is not valid"),
  data: { reason: "api-key-invalid" },
};

/** An array of records, or a function that looks one up for each request, such as in a database. */
export type ApiKeySource =
  | readonly ApiKeyRecord[]
  | ((id: string) => MaybePromise<ApiKeyRecord | undefined>);

/**
 * Takes API keys from the header `x-api-key`, or `authorization` with the scheme `ApiKey`. One SHA-256
 * is enough for 256 random bits; slow hashes are for passwords that people choose.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate } from "callwire/security";
 * import { apiKeys, createApiKey } from "callwire/security/keys";
 *
 * const { key, record } = createApiKey({ principal: { id: "ci", roles: ["deploy"] } });
 * console.log(key); // for the caller; the server stores the record only
 * const guarded = createServer(methods, { use: [authenticate(apiKeys([record]))] });
 * ```
 */
export function apiKeys(source: ApiKeySource): Credential {
  const find = typeof source === "function" ? source : finder(source);
  /** Verified keys of each connection, since most send the same key with every request. */
  const shown = new WeakMap<object, Map<string, ApiKeyRecord>>();
  return {
    challenge: "ApiKey",
    scheme: { type: "apiKey", in: "header", name: "x-api-key" },
    verify(transport) {
      const presented = presentedKey(transport);
      if (presented === undefined) return undefined;
      const { connection } = transport;
      const keys = connection === undefined ? undefined : shown.get(connection);
      // A Map looks up by hash, so the time does not show how many characters match.
      const before = keys?.get(presented);
      if (before === undefined && !keyPattern.test(presented)) return unknownApiKey;
      const id = presented.slice(0, -secretLength - 1);
      const record = find(id);
      // No need to hash the secret again unless the record changed.
      if (before !== undefined && record === before && isValidNow(before)) {
        return principalOf(before);
      }
      const secret = presented.slice(-secretLength);
      if (isThenable(record)) return record.then((found) => judge(found, id, secret));
      const decision = judge(record, id, secret);
      if (record !== undefined && decision !== unknownApiKey && connection !== undefined) {
        if (keys === undefined || keys.size >= mostKeys) {
          shown.set(connection, new Map([[presented, record]]));
        } else keys.set(presented, record);
      }
      return decision;
    },
  };
}

function finder(records: readonly ApiKeyRecord[]): (id: string) => ApiKeyRecord | undefined {
  const byId = new Map<string, ApiKeyRecord>();
  for (const record of records) {
    if (byId.has(record.id)) throw new TypeError(`the key id "${record.id}" is used twice`);
    if (storedHash(record).length !== noHash.length) {
      throw new TypeError(`"hash" of the key "${record.id}" must be a SHA-256 in base64url`);
    }
    byId.set(record.id, record);
  }
  return (id) => byId.get(id);
}

/** The key in the headers. A header that was sent twice becomes an invalid key. */
function presentedKey(transport: Transport): string | undefined {
  const own = transport.headers["x-api-key"];
  if (own !== undefined) return typeof own === "string" ? own.trim() : "";
  const { authorization } = transport.headers;
  if (typeof authorization !== "string") return undefined;
  return /^ApiKey +(.*)$/i.exec(authorization)?.[1]?.trim();
}

/** Compared with if the key is unknown, so that this takes the same time. */
const noHash = randomBytes(32).toString("base64url");

function judge(
  record: ApiKeyRecord | undefined,
  id: string,
  secret: string,
): Principal | ErrorObject {
  const stored = record?.id === id ? storedHash(record) : noHash;
  const isEqual = equalSecrets(hash("sha256", secret, "base64url"), stored);
  if (record === undefined || !isEqual || !isValidNow(record)) return unknownApiKey;
  return principalOf(record);
}

function principalOf({ id, principal = { id }, notAfter }: ApiKeyRecord): Principal {
  if (notAfter === undefined || principal.expiresAt !== undefined) return principal;
  // A connection may outlive its key.
  return { ...principal, expiresAt: new Date(notAfter).getTime() };
}

function isValidNow({ notBefore, notAfter }: ApiKeyRecord): boolean {
  if (notBefore === undefined && notAfter === undefined) return true;
  const now = Date.now();
  // An invalid date makes the comparison false, and so the key invalid.
  return (
    (notBefore === undefined || now >= new Date(notBefore).getTime()) &&
    (notAfter === undefined || now < new Date(notAfter).getTime())
  );
}

/** The hash without padding, for the comparison. */
function storedHash({ hash: text }: ApiKeyRecord): string {
  return text.length === secretLength ? text : Buffer.from(text, "base64url").toString("base64url");
}
