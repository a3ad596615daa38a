import { randomBytes } from "node:crypto";
import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { Origin } from "../../protocol/origin.ts";
import { isEnvelope } from "../../protocol/parse.ts";
import type { Seal, SealMaker, Unsealed } from "../../protocol/seal.ts";
import { Freshness, type FreshnessOptions } from "./freshness.ts";
import { type DetachedJws, isValidDetached, parseDetached, signDetached } from "./jws.ts";
import { type Key, KeyRing, type KeySource, type SigningKey, signerOf } from "./key.ts";
import {
  principalChanged,
  replayed,
  type SignatureRefusal,
  signatureInvalid,
  signatureMissing,
} from "./refusals.ts";

export interface SignedMessagesOptions extends FreshnessOptions {
  /** Signs what this end sends; without it nothing is signed. */
  readonly key?: SigningKey;
  /** Whose messages are taken; without it the other end's signatures are not checked. */
  readonly keys?: KeySource;
  /**
   * What becomes of messages without a signature. "pass" takes them, without a principal, from an
   * other end that has not signed so far, and takes nothing that it signs afterwards. @default "refuse"
   */
  readonly unsigned?: "refuse" | "pass";
}

/** A parent writes to its child before that has loaded its program and looks at the clock. */
const bootMs = 10_000;

interface Shared {
  readonly key: Key | undefined;
  readonly ring: KeyRing | undefined;
  readonly freshness: Freshness;
  /** The same for the parent of this process. */
  readonly parentFreshness: Freshness;
  readonly passUnsigned: boolean;
}

/**
 * Signs each message on wires without headers, in both directions: `{"jws": …, "msg": "<its text>"}`.
 * It is an option of servers and of links: `tcpLink(address, { seal: signedMessages({ key, keys }) })`.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { createSigningKey, signedMessages } from "callwire/security/signing";
 * import { serveSocket } from "callwire/tcp";
 *
 * const client = createSigningKey("ed25519", "client-1");
 * const own = createSigningKey("ed25519", "server-1");
 * const seal = signedMessages({ key: own.signer, keys: [client.verifier] });
 * await serveSocket(createServer(methods, { seal }), { port: 9000 });
 * ```
 */
export function signedMessages(options: SignedMessagesOptions): SealMaker {
  const { unsigned = "refuse" } = options;
  const shared: Shared = {
    key: options.key === undefined ? undefined : signerOf(options.key),
    ring: options.keys === undefined ? undefined : new KeyRing(options.keys),
    freshness: new Freshness(options),
    parentFreshness: new Freshness(options, -bootMs),
    passUnsigned: unsigned === "pass",
  };
  const { key, ring } = shared;
  if (key === undefined && ring === undefined) {
    throw new TypeError("signedMessages needs a key to sign with, or keys to verify with");
  }
  // What this end has sent could be sent back to it, and would be taken.
  if (key !== undefined && ring?.kids.includes(key.kid)) {
    throw new TypeError(`the key ${key.kid} cannot be used in both directions`);
  }
  return () => new SignedMessages(shared);
}

/** One end of a connection whose messages are signed. */
class SignedMessages implements Seal {
  readonly #shared: Shared;
  readonly #sid = randomBytes(16).toString("base64url");
  #sent = 0;
  /** How the other end names itself, and how many of its messages came. */
  #peer: string | undefined;
  #heard = -1;
  /** Whether the other end signs; undefined until it has spoken. */
  #isSigned: boolean | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  get mayReply(): boolean {
    return this.#peer !== undefined || this.#signer === undefined;
  }

  /** Undefined where what is sent is not signed, or not yet. */
  get #signer(): Key | undefined {
    const { key, passUnsigned } = this.#shared;
    return passUnsigned && this.#isSigned !== true ? undefined : key;
  }

  seal(text: string): string {
    const { freshness } = this.#shared;
    const key = this.#signer;
    if (key === undefined) return text;
    const iat = Math.floor(freshness.clock.now() / 1000);
    const header = { iat, sid: this.#sid, seq: this.#sent++ };
    // Who is named does not need a nonce: the name is new with each connection, and the count rises.
    const rest =
      this.#peer === undefined
        ? { nonce: randomBytes(16).toString("base64url") }
        : { to: this.#peer };
    const jws = signDetached(key, { ...header, ...rest }, text);
    return `{"jws":"${jws}","msg":${JSON.stringify(text)}}`;
  }

  open(text: string, origin: Origin): MaybePromise<string | Unsealed> {
    const { key: own, ring, passUnsigned, freshness } = this.#shared;
    const payload = parsed(text);
    const envelope = envelopeIn(payload);
    if (envelope === undefined) {
      const passes = ring === undefined || (passUnsigned && this.#isSigned !== true);
      if (!passes) return { error: signatureMissing, message: text };
      // What is no message, such as a line that a program prints, says nothing.
      if (isMessage(payload)) this.#isSigned = false;
      return text;
    }
    const { jws, msg: message } = envelope;
    if (ring === undefined) return message;
    const signed = parseDetached(jws);
    const kid = signed?.header.kid;
    // What this end has sent is not taken when it comes back, also where its key is found among those of others.
    if (signed === undefined || typeof kid !== "string" || kid === own?.kid)
      return { error: signatureInvalid, message };
    const key = ring.find(kid, freshness.clock.now());
    return isThenable(key)
      ? key.then((found) => this.#judge(found, signed, message, origin))
      : this.#judge(key, signed, message, origin);
  }

  #judge(
    key: Key | undefined,
    signed: DetachedJws,
    message: string,
    origin: Origin,
  ): MaybePromise<string | Unsealed> {
    if (key === undefined || !isValidDetached(key, signed, message)) {
      return { error: signatureInvalid, message };
    }
    const settle = (error: SignatureRefusal | undefined): string | Unsealed => {
      const refusal = error ?? this.#bind(key, signed, origin);
      return refusal === undefined ? message : { error: refusal, message };
    };
    const refused = this.#refuse(key, signed, message, origin);
    return isThenable(refused) ? refused.then(settle) : settle(refused);
  }

  #refuse(
    key: Key,
    { header }: DetachedJws,
    message: string,
    origin: Origin,
  ): MaybePromise<SignatureRefusal | undefined> {
    const { freshness, parentFreshness } = this.#shared;
    const { iat, exp, nonce, to, seq, sid } = header;
    if (this.#isOthers(key, origin)) return principalChanged;
    // An end that has named itself has one name. What bears another was made for another connection, whose ids are the same.
    if (this.#peer !== undefined && sid !== this.#peer) return replayed;
    if (typeof seq === "number" && !(seq > this.#heard)) return replayed;
    if (to === undefined) {
      // A reply that names no connection may have been meant for another one.
      if (isReply(message)) return signatureInvalid;
      const judge = origin.transport.kind === "stdio" ? parentFreshness : freshness;
      return judge.refuse(key.kid, { created: iat, expires: exp, nonce });
    }
    if (to !== this.#sid || typeof seq !== "number") return replayed;
    return freshness.refuseTime(iat, exp);
  }

  /** Remembers who speaks; a connection is one principal's. */
  #bind(key: Key, { header }: DetachedJws, origin: Origin): SignatureRefusal | undefined {
    if (this.#isOthers(key, origin)) return principalChanged;
    const { sid, seq } = header;
    if (typeof sid === "string" && sid.length <= 64) this.#peer ??= sid;
    if (typeof seq === "number") this.#heard = seq;
    this.#isSigned = true;
    origin.principal = key.principal;
    return undefined;
  }

  /** Whether the connection is of another principal than the key. */
  #isOthers(key: Key, { principal }: Origin): boolean {
    // Calls that nobody signed may still wait, and would run as whoever signs after them.
    return (
      (principal !== undefined && principal.id !== key.principal.id) || this.#isSigned === false
    );
  }
}

function envelopeIn(value: unknown): { readonly jws: string; readonly msg: string } | undefined {
  if (!isEnvelope(value)) return undefined;
  const { jws, msg } = value as { jws?: unknown; msg?: unknown };
  return typeof jws === "string" && typeof msg === "string" ? { jws, msg } : undefined;
}

function isReply(text: string): boolean {
  const payload = parsed(text);
  if (payload === undefined) return false;
  const messages: readonly unknown[] = Array.isArray(payload) ? payload : [payload];
  return messages.some((each) => !isEnvelope(each) || each.method === undefined);
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isMessage(payload: unknown): boolean {
  return (
    Array.isArray(payload) || (isEnvelope(payload) && ("jsonrpc" in payload || "method" in payload))
  );
}
