import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type JsonWebKeyInput,
  KeyObject,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { Principal } from "../../protocol/origin.ts";

/** A shared secret (HMAC), or a key pair whose private key stays with the signer (Ed25519). */
export type SigningAlgorithm = "hmac-sha256" | "ed25519";

/**
 * A key and its principal. The algorithm belongs to the key: a message that names another one is
 * refused.
 */
export interface SigningKey {
  /** Id of the key in messages; not secret. */
  readonly kid: string;
  /** The only algorithm that this key is used with. */
  readonly alg: SigningAlgorithm;
  /**
   * For HMAC at least 32 bytes, raw or as base64 or base64url. For Ed25519 a PEM or JWK: the public
   * key verifies, the private key signs.
   */
  readonly key: string | Uint8Array | JsonWebKeyInput["key"] | KeyObject;
  /** The principal of messages signed with it. @default one with the kid as its id */
  readonly principal?: Principal;
  /** Not valid before this date; a string must be ISO 8601. @default no limit */
  readonly notBefore?: Date | string;
  /** Not valid from this date on. @default no limit */
  readonly notAfter?: Date | string;
}

/** An array of keys, or a function that looks one up for each message, such as in a database. */
export type KeySource =
  | readonly SigningKey[]
  | ((kid: string) => MaybePromise<SigningKey | undefined>);

/** A parsed key. */
export class Key {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly principal: Principal;
  readonly #key: KeyObject;
  readonly #from: number;
  readonly #until: number;

  constructor(record: SigningKey) {
    const { kid, alg, principal } = record;
    checkKid(kid);
    this.kid = kid;
    this.alg = alg;
    this.principal = principal ?? { id: kid };
    this.#key = keyObject(record);
    this.#from = moment(record.notBefore, Number.NEGATIVE_INFINITY);
    this.#until = moment(record.notAfter, Number.POSITIVE_INFINITY);
  }

  isValidAt(now: number): boolean {
    return now >= this.#from && now < this.#until;
  }

  sign(text: string): Buffer {
    if (this.alg === "hmac-sha256") return createHmac("sha256", this.#key).update(text).digest();
    if (this.#key.type !== "private")
      throw new TypeError(`the key ${this.kid} cannot sign: it is not a private key`);
    return sign(null, Buffer.from(text), this.#key);
  }

  verify(text: string, signature: Uint8Array): boolean {
    if (this.alg === "hmac-sha256") {
      const own = this.sign(text);
      return own.length === signature.length && timingSafeEqual(own, signature);
    }
    return verify(null, Buffer.from(text), this.#key, signature);
  }
}

/** Parses a key for signing, and throws now if it can only verify. */
export function signerOf(record: SigningKey): Key {
  const key = new Key(record);
  key.sign("");
  return key;
}

/** Finds keys by id. Each record is parsed once. */
export class KeyRing {
  readonly #keys = new Map<string, Key>();
  readonly #lookup: ((kid: string) => MaybePromise<SigningKey | undefined>) | undefined;
  readonly #read = new WeakMap<SigningKey, Key>();

  constructor(source: KeySource) {
    if (typeof source === "function") {
      this.#lookup = source;
      return;
    }
    for (const record of source) {
      if (this.#keys.has(record.kid)) throw new TypeError(`the kid "${record.kid}" is used twice`);
      this.#keys.set(record.kid, new Key(record));
    }
  }

  /** The ids of all keys; empty if a function looks them up. */
  get kids(): readonly string[] {
    return [...this.#keys.keys()];
  }

  find(kid: string, now: number): MaybePromise<Key | undefined> {
    if (this.#lookup === undefined) return valid(this.#keys.get(kid), now);
    const found = this.#lookup(kid);
    return isThenable(found)
      ? found.then((record) => valid(this.#keyOf(record, kid), now))
      : valid(this.#keyOf(found, kid), now);
  }

  #keyOf(record: SigningKey | undefined, kid: string): Key | undefined {
    if (record === undefined || record.kid !== kid) return undefined;
    const known = this.#read.get(record);
    if (known !== undefined) return known;
    const key = new Key(record);
    this.#read.set(record, key);
    return key;
  }
}

/**
 * Makes a random key: `signer` for the sender, and `verifier` for the receiver to store.
 * @example
 * ```ts
 * import { createSigningKey, type SigningKey } from "callwire/security/signing";
 *
 * const { signer, verifier } = createSigningKey("ed25519", "client-1");
 * // `signer` stays with the client; the server stores this.
 * const record: SigningKey = { ...verifier, principal: { id: "bob" }, notAfter: "2030-01-01" };
 * ```
 */
export function createSigningKey(
  alg: SigningAlgorithm = "hmac-sha256",
  kid: string = `sig_${randomBytes(9).toString("base64url")}`,
): { readonly signer: SigningKey; readonly verifier: SigningKey } {
  checkKid(kid);
  if (alg === "hmac-sha256") {
    const record = { kid, alg, key: randomBytes(32).toString("base64url") };
    return { signer: record, verifier: record };
  }
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    signer: { kid, alg, key: privateKey.export({ type: "pkcs8", format: "pem" }) as string },
    verifier: { kid, alg, key: publicKey.export({ type: "spki", format: "pem" }) as string },
  };
}

function checkKid(kid: string): void {
  if (!/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(kid)) {
    throw new TypeError(
      "a kid must have 1 to 128 visible ASCII characters, without quotes and backslashes",
    );
  }
}

function valid(key: Key | undefined, now: number): Key | undefined {
  return key?.isValidAt(now) === true ? key : undefined;
}

const shortestSecret = 32;

function keyObject({ kid, alg, key }: SigningKey): KeyObject {
  if (alg === "hmac-sha256") {
    const secret = key instanceof KeyObject ? key : secretOf(kid, key);
    if (secret.type !== "secret" || (secret.symmetricKeySize ?? 0) < shortestSecret) {
      throw new TypeError(`the key ${kid} must be a secret of at least ${shortestSecret} bytes`);
    }
    return secret;
  }
  if (alg !== "ed25519")
    throw new TypeError(`"alg" of the key ${kid} must be "hmac-sha256" or "ed25519", not "${alg}"`);
  const read = key instanceof KeyObject ? key : asymmetricOf(kid, key);
  if (read.asymmetricKeyType !== "ed25519") {
    throw new TypeError(`the key ${kid} is not an Ed25519 key`);
  }
  return read;
}

function secretOf(kid: string, key: Exclude<SigningKey["key"], KeyObject>): KeyObject {
  if (key instanceof Uint8Array) return createSecretKey(key);
  if (typeof key !== "string" || !/^[\w+/-]+={0,2}$/.test(key)) {
    throw new TypeError(`the key ${kid} must be bytes or base64`);
  }
  return createSecretKey(Buffer.from(key, "base64url"));
}

function asymmetricOf(kid: string, key: Exclude<SigningKey["key"], KeyObject>): KeyObject {
  const read = readAsymmetric(key);
  if (read === undefined) throw new TypeError(`the key ${kid} must be a valid PEM or JWK`);
  return read;
}

/** Undefined if the key is malformed; the error of Node may contain a part of it. */
function readAsymmetric(key: Exclude<SigningKey["key"], KeyObject>): KeyObject | undefined {
  try {
    if (typeof key === "string" || key instanceof Uint8Array) {
      const text = Buffer.from(key);
      return text.includes("PRIVATE KEY") ? createPrivateKey(text) : createPublicKey(text);
    }
    const jwk = { key, format: "jwk" } as const;
    return "d" in key ? createPrivateKey(jwk) : createPublicKey(jwk);
  } catch {
    return undefined;
  }
}

function moment(date: Date | string | undefined, otherwise: number): number {
  if (date === undefined) return otherwise;
  const ms = new Date(date).getTime();
  if (Number.isNaN(ms)) throw new TypeError(`"${String(date)}" is not a valid date`);
  return ms;
}
