/** API keys: an id and a secret, of which the server stores a hash. @module callwire/security/keys */
import { hash, randomBytes } from "node:crypto";
import { type ErrorObject, isThenable, type MaybePromise } from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { equalSecrets } from "./bearer.ts";
import type { Credential } from "./credential.ts";
import { type Refusal, unauthenticated } from "./refusals.ts";

/** What a server stores of a key; none of it is secret. */
export interface ApiKeyRecord {
  readonly id: string;
  /** SHA-256 of the secret, as base64url. */
  readonly hash: string;
  /** Who calls with it. @default the id of the key */
  readonly principal?: Principal;
  /** Not valid before; as a text, in the form of ISO 8601. */
  readonly notBefore?: Date | string;
  /** Not valid from then on. */
  readonly notAfter?: Date | string;
}

export interface ApiKey {
  /** What the caller sends, `<id>.<secret>`. It is shown once and stored nowhere. */
  readonly key: string;
  readonly record: ApiKeyRecord;
}

export interface CreateApiKeyOptions {
  /** Names the key; it is not a secret. @default a random one */
  readonly id?: string;
  /** Who calls with the key. @default the id of the key */
  readonly principal?: Principal;
  /** When the key expires, as a date or an ISO 8601 string. @default never */
  readonly notAfter?: Date | string;
}

const idPattern = /^[\w-]{1,64}$/;
const keyPattern = /^[\w-]{1,64}\.[\w-]{43}$/;
/** 256 bits as base64url. */
const secretLength = 43;
/** How many keys are known of one connection; only a proxy shows more than one. */
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
    throw new TypeError("the id of a key has 1 to 64 letters, digits, underscores or hyphens");
  }
  const secret = randomBytes(32).toString("base64url");
  return {
    key: `${id}.${secret}`,
    record: { id, hash: hash("sha256", secret, "base64url"), ...rest },
  };
}

const unknownApiKey: Refusal = {
  ...unauthenticated("an API key that is not valid"),
  data: { reason: "api-key-invalid" },
};

/** Many records, or a function that finds one, such as in a database; it is asked for each call. */
export type ApiKeySource =
  | readonly ApiKeyRecord[]
  | ((id: string) => MaybePromise<ApiKeyRecord | undefined>);

/**
 * Takes API keys from the header `x-api-key`, or `authorization` with the scheme `ApiKey`. One SHA-256
 * is right for them: slow hashes are for what people remember, and nobody guesses 256 random bits.
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
  /** The good keys that each connection has shown; most show the same one with every request. */
  const shown = new WeakMap<object, Map<string, ApiKeyRecord>>();
  return {
    challenge: "ApiKey",
    verify(transport) {
      const presented = presentedKey(transport);
      if (presented === undefined) return undefined;
      const { connection } = transport;
      const keys = connection === undefined ? undefined : shown.get(connection);
      // Found by its hash, so that the time does not tell how much of a wrong one is right.
      const before = keys?.get(presented);
      if (before === undefined && !keyPattern.test(presented)) return unknownApiKey;
      const id = presented.slice(0, -secretLength - 1);
      const record = find(id);
      // Hashing it again as it is stored would tell nothing new, unless the record has changed meanwhile.
      if (before !== undefined && record === before && isValidNow(before)) {
        return principalOf(before);
      }
      const secret = presented.slice(-secretLength);
      if (isThenable(record)) return record.then((found) => judge(found, id, secret));
      const verdict = judge(record, id, secret);
      if (record !== undefined && verdict !== unknownApiKey && connection !== undefined) {
        if (keys === undefined || keys.size >= mostKeys) {
          shown.set(connection, new Map([[presented, record]]));
        } else keys.set(presented, record);
      }
      return verdict;
    },
  };
}

function finder(records: readonly ApiKeyRecord[]): (id: string) => ApiKeyRecord | undefined {
  const byId = new Map<string, ApiKeyRecord>();
  for (const record of records) {
    if (byId.has(record.id)) throw new TypeError(`there are two keys ${record.id}`);
    if (storedHash(record).length !== noHash.length) {
      throw new TypeError(`the hash of the key ${record.id} must be a SHA-256 as base64url`);
    }
    byId.set(record.id, record);
  }
  return (id) => byId.get(id);
}

/** The key as it was sent. One that is sent twice is none that fits. */
function presentedKey(transport: Transport): string | undefined {
  const own = transport.headers["x-api-key"];
  if (own !== undefined) return typeof own === "string" ? own.trim() : "";
  const { authorization } = transport.headers;
  if (typeof authorization !== "string") return undefined;
  return /^ApiKey +(.*)$/i.exec(authorization)?.[1]?.trim();
}

/** Stands for the hash of a key that is not there, so that looking for it takes the same way. */
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
  // A date that cannot be read makes the comparison false, and so the key invalid.
  return (
    (notBefore === undefined || now >= new Date(notBefore).getTime()) &&
    (notAfter === undefined || now < new Date(notAfter).getTime())
  );
}

/** In the form in which it is compared; some write base64 with an end that says nothing. */
function storedHash({ hash: text }: ApiKeyRecord): string {
  return text.length === secretLength ? text : Buffer.from(text, "base64url").toString("base64url");
}
