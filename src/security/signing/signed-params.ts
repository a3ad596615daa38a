import { randomBytes } from "node:crypto";
import { mostInside, withBytesInside } from "../../protocol/attachments.ts";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import type { Context } from "../../protocol/context.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import {
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
  type Request,
} from "../../protocol/message.ts";
import type { Principal } from "../../protocol/origin.ts";
import { canonicalJson } from "./canonical-json.ts";
import { Freshness, type FreshnessOptions } from "./freshness.ts";
import { Key, KeyRing, type KeySource, type SigningKey } from "./key.ts";
import {
  principalChanged,
  type SignatureRefusal,
  signatureInvalid,
  signatureMissing,
} from "./signature-errors.ts";

type NamedParams = Readonly<Record<string, unknown>>;

export interface SignedParamsOptions extends FreshnessOptions {
  /** Keys that may sign. */
  readonly keys: KeySource;
  /** Keys to try for messages without `keyid`; several during a key rotation. @default the only key, if there is one */
  readonly defaultKids?: readonly string[];
  /** What happens to unsigned calls of callers that are not authenticated otherwise. @default "refuse" */
  readonly unsigned?: "refuse" | "pass";
  /** Keeps `signature`, `keyid`, `timestamp` and `nonce` in the params that methods get. @default false */
  readonly keepMembers?: boolean;
}

/**
 * Verifies signatures in params, for clients that cannot sign otherwise. `signature` covers the
 * canonical JSON (RFC 8785) of `{"method": …, "params": …}` without the signature itself, and with
 * `"types": …` if the params have rich values, as hex,
 * base64 or base64url; `timestamp` is in seconds.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { createSigningKey, signedParams } from "callwire/security/signing";
 *
 * const { verifier } = createSigningKey("hmac-sha256", "agent-7");
 * const guarded = createServer(methods, { use: [signedParams({ keys: [verifier] })] });
 * ```
 */
export function signedParams(options: SignedParamsOptions): Middleware {
  const ring = new KeyRing(options.keys);
  const { kids } = ring;
  const { defaultKids = kids.length === 1 ? kids : [], keepMembers = false } = options;
  const passUnsigned = options.unsigned === "pass";
  const freshness = new Freshness(options);

  const find = async (kids: readonly string[], request: Request, params: NamedParams) => {
    const text = signedText(request, params);
    const signature = signatureBytes(params.signature);
    if (text === undefined || signature === undefined) return undefined;
    for (const kid of kids) {
      const key = await ring.find(kid, freshness.clock.now());
      if (key?.verify(text, signature) === true) return key;
    }
    return undefined;
  };

  const judge = async (
    request: Request,
    params: NamedParams,
    context: Context,
  ): Promise<SignatureRefusal | undefined> => {
    const { keyid, timestamp, nonce } = params;
    const named = typeof keyid === "string" ? [keyid] : [];
    const key = await find(keyid === undefined ? defaultKids : named, request, params);
    if (key === undefined) return signatureInvalid;
    const refusal = await freshness.refuse(key.kid, { created: timestamp, nonce });
    if (refusal !== undefined) return refusal;
    if (isOther(context.principal, key.principal)) return principalChanged;
    context.principal = key.principal;
    return undefined;
  };

  return (next) => (request, context) => {
    const { params } = request;
    if (!isNamed(params) || !Object.hasOwn(params, "signature")) {
      const passes = passUnsigned || context.principal !== undefined;
      return passes ? next(request, context) : failure(signatureMissing);
    }
    return judge(request, params, context).then((refusal) =>
      refusal !== undefined
        ? failure(refusal)
        : next(keepMembers ? request : { ...request, params: stripped(params) }, context),
    );
  };
}

export interface SignParamsOptions {
  /** Signs the params. */
  readonly key: SigningKey;
  /** The time of day, for time stamps. @default the system clock */
  readonly clock?: Clock;
}

/**
 * Signs the params of a client's calls, for servers with `signedParams`. Params must be by name.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 * import { createSigningKey, signParams } from "callwire/security/signing";
 *
 * const { signer } = createSigningKey("hmac-sha256", "agent-7");
 * const link = httpLink("https://api.example.com/rpc");
 * const client = createClient<typeof methods>(link, { use: [signParams({ key: signer })] });
 * ```
 */
export function signParams(options: SignParamsOptions): Middleware {
  const { clock = systemClock } = options;
  const key = new Key(options.key);
  const signed = (request: Request): Request => {
    const { params = {} } = request;
    if (!isNamed(params))
      throw new TypeError("only params by name can be signed; pass an object instead of an array");
    const stamped = {
      ...params,
      keyid: key.kid,
      timestamp: Math.floor(clock.now() / 1000),
      nonce: randomBytes(16).toString("base64url"),
    };
    const text = canonicalJson(signedMembers(request, stamped));
    const signature = key.sign(text).toString("base64url");
    return { ...request, params: { ...stamped, signature } };
  };
  return (next) => (request, context) => {
    const { attachments } = request;
    if (attachments === undefined) return next(signed(request), context);
    // The signature covers what is in the message.
    return withBytesInside(request, attachments, mostInside, context.signal).then((whole) =>
      next(signed(whole), context),
    );
  };
}

/**
 * Refuses calls whose `timestamp` is not recent or whose `nonce` the caller has used before. Callers
 * must be authenticated otherwise; anonymous ones share one quota of nonces.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { authenticate, bearer } from "callwire/security";
 * import { refuseReplays } from "callwire/security/signing";
 *
 * const sessions = new Map([["d2hhdCBhIHRva2Vu", { id: "ann" }]]);
 * const guarded = createServer(methods, {
 *   use: [authenticate(bearer((token) => sessions.get(token))), refuseReplays({ skewMs: 30_000 })],
 * });
 * ```
 */
export function refuseReplays(options: FreshnessOptions = {}): Middleware {
  const freshness = new Freshness(options);
  return (next: Handle): Handle =>
    (request, context) => {
      const { params } = request;
      if (!isNamed(params) || params.timestamp === undefined || params.nonce === undefined) {
        return failure(signatureMissing);
      }
      const owner = context.principal?.id ?? "";
      const refused = freshness.refuse(owner, { created: params.timestamp, nonce: params.nonce });
      const settle = (refusal: SignatureRefusal | undefined): MaybePromise<Reply | undefined> =>
        refusal === undefined ? next(request, context) : failure(refusal);
      return isThenable(refused) ? refused.then(settle) : settle(refused);
    };
}

function isOther(said: Principal | undefined, signed: Principal): boolean {
  return said !== undefined && said.id !== signed.id;
}

function isNamed(params: unknown): params is NamedParams {
  return typeof params === "object" && params !== null && !Array.isArray(params);
}

/** Undefined for params without a canonical form, such as a lone surrogate. */
function signedText(request: Request, params: NamedParams): string | undefined {
  const { signature: _, ...signed } = params;
  try {
    return canonicalJson(signedMembers(request, signed));
  } catch {
    return undefined;
  }
}

/** The types of rich values change what a method gets, so they are signed too. */
function signedMembers({ method, types = {} }: Request, params: NamedParams): object {
  return Object.keys(types).length === 0 ? { method, params } : { method, params, types };
}

function stripped(params: NamedParams): NamedParams {
  const { signature: _s, keyid: _k, timestamp: _t, nonce: _n, ...own } = params;
  return own;
}

/** 32 bytes for HMAC or 64 for Ed25519; hex and base64 differ in length. */
function signatureBytes(signature: unknown): Buffer | undefined {
  if (typeof signature !== "string") return undefined;
  if (/^(?:[\da-f]{64}|[\da-f]{128})$/i.test(signature)) return Buffer.from(signature, "hex");
  if (!/^[\w+/-]{43,88}={0,2}$/.test(signature)) return undefined;
  return Buffer.from(signature, "base64url");
}
