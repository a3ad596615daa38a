import { randomBytes } from "node:crypto";
import { isEnvelope } from "../../protocol/envelope.ts";
import { parseJson } from "../../protocol/json-text.ts";
import { isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { Origin } from "../../protocol/origin.ts";
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
} from "./signature-errors.ts";

export interface SignedMessagesOptions extends FreshnessOptions {
  /** Signs outgoing messages; without it they are not signed. @default none */
  readonly key?: SigningKey;
  /** Keys that may sign incoming messages; without them signatures are not verified. @default none */
  readonly keys?: KeySource;
  /**
   * What happens to unsigned messages. "pass" accepts them without a principal from a peer that has not
   * signed before, and then refuses anything that this peer signs later. @default "refuse"
   */
  readonly unsigned?: "refuse" | "pass";
}

/** A parent process may write to its child this long before the child is ready to read. */
const bootMs = 10_000;

interface Shared {
  readonly key: Key | undefined;
  readonly ring: KeyRing | undefined;
  readonly freshness: Freshness;
  /** The same for messages from the parent process. */
  readonly parentFreshness: Freshness;
  readonly passUnsigned: boolean;
}

/**
 * Signs each message on wires without headers, in both directions: `{"jws": …, "msg": "<message>"}`.
 * It is an option of servers and links: `tcpLink(address, { seal: signedMessages({ key, keys }) })`.
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
  // Otherwise a message could be reflected to its sender and would be accepted.
  if (key !== undefined && ring?.kids.includes(key.kid)) {
    throw new TypeError(`the key ${key.kid} must not be used in both directions`);
  }
  return () => new SignedMessages(shared);
}

/** Signs and verifies the messages of one connection. */
class SignedMessages implements Seal {
  readonly #shared: Shared;
  readonly #sid = randomBytes(16).toString("base64url");
  #sent = 0;
  /** The id that the peer chose, and the sequence number of its last message. */
  #peer: string | undefined;
  #lastSeq = -1;
  /** Whether the peer signs; undefined until its first message. */
  #isSigned: boolean | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  get mayReply(): boolean {
    return this.#peer !== undefined || this.#signer === undefined;
  }

  /** Undefined if messages are not signed, or not yet. */
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
    // With `to` a nonce is not needed: the id is new with each connection, and `seq` rises.
    const rest =
      this.#peer === undefined
        ? { nonce: randomBytes(16).toString("base64url") }
        : { to: this.#peer };
    const jws = signDetached(key, { ...header, ...rest }, text);
    return `{"jws":"${jws}","msg":${JSON.stringify(text)}}`;
  }

  open(text: string, origin: Origin): MaybePromise<string | Unsealed> {
    const { key: own, ring, passUnsigned, freshness } = this.#shared;
    const payload = parseJson(text);
    const envelope = envelopeIn(payload);
    if (envelope === undefined) {
      const passes = ring === undefined || (passUnsigned && this.#isSigned !== true);
      if (!passes) return { error: signatureMissing, message: text };
      // A line that is not a message, such as debug output of a program, does not count.
      if (isMessage(payload)) this.#isSigned = false;
      return text;
    }
    const { jws, msg: message } = envelope;
    if (ring === undefined) return message;
    const signed = parseDetached(jws);
    const kid = signed?.header.kid;
    // Refuses reflected messages, also if a key function returns our own key.
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
    if (this.#belongsToOther(key, origin)) return principalChanged;
    // A different `sid` means that the message was signed for another connection, where request ids repeat.
    if (this.#peer !== undefined && sid !== this.#peer) return replayed;
    if (typeof seq === "number" && !(seq > this.#lastSeq)) return replayed;
    if (to === undefined) {
      // A reply without `to` may have been signed for another connection.
      if (isReply(message)) return signatureInvalid;
      const judge = origin.transport.kind === "stdio" ? parentFreshness : freshness;
      return judge.refuse(key.kid, { created: iat, expires: exp, nonce });
    }
    if (to !== this.#sid || typeof seq !== "number") return replayed;
    return freshness.refuseTime(iat, exp);
  }

  /** Binds the connection to the principal of the key. */
  #bind(key: Key, { header }: DetachedJws, origin: Origin): SignatureRefusal | undefined {
    if (this.#belongsToOther(key, origin)) return principalChanged;
    const { sid, seq } = header;
    if (typeof sid === "string" && sid.length <= 64) this.#peer ??= sid;
    if (typeof seq === "number") this.#lastSeq = seq;
    this.#isSigned = true;
    origin.principal = key.principal;
    return undefined;
  }

  /** Whether the connection belongs to another principal. */
  #belongsToOther(key: Key, { principal }: Origin): boolean {
    // Unsigned calls may still be waiting, and would run as this principal.
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
  const payload = parseJson(text);
  if (payload === undefined) return false;
  const messages: readonly unknown[] = Array.isArray(payload) ? payload : [payload];
  return messages.some((each) => !isEnvelope(each) || each.method === undefined);
}

function isMessage(payload: unknown): boolean {
  return (
    Array.isArray(payload) || (isEnvelope(payload) && ("jsonrpc" in payload || "method" in payload))
  );
}
