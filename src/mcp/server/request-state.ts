import { base64Url, fromBase64 } from "../../protocol/base64.ts";
import type { Clock } from "../../protocol/clock.ts";
import { invalidArguments } from "../errors.ts";

/** The request and caller that a state is valid for. */
export interface StateBinding {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly principal: string | undefined;
}

interface Sealed {
  /** Answers of earlier rounds. */
  readonly answers: Readonly<Record<string, unknown>>;
  readonly expires: number;
  readonly request: string;
  /** Makes every state unique. */
  readonly round: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const hmac = { name: "HMAC", hash: "SHA-256" } as const;

/**
 * Writes and reads `requestState`. It passes through the client, so it is signed and bound to the
 * request, the caller and an expiry time. It is not encrypted: its content came from the client itself.
 */
export class RequestStates {
  readonly #secret: string | undefined;
  #imported: Promise<CryptoKey> | undefined;
  readonly #clock: Clock;
  readonly #lifetimeMs: number;

  /** Processes that share a secret can read each other's states. */
  constructor(clock: Clock, lifetimeMs: number, secret?: string) {
    if (secret === "") throw new TypeError('"stateSecret" must not be empty');
    this.#secret = secret;
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
  }

  /** Made with the first state: Workers have no random values before their first request. */
  get #key(): Promise<CryptoKey> {
    this.#imported ??= crypto.subtle.importKey(
      "raw",
      this.#secret === undefined
        ? crypto.getRandomValues(new Uint8Array(32))
        : encoder.encode(this.#secret),
      hmac,
      false,
      ["sign", "verify"],
    );
    return this.#imported;
  }

  async write(answers: Sealed["answers"], binding: StateBinding): Promise<string> {
    const sealed: Sealed = {
      answers,
      expires: this.#clock.now() + this.#lifetimeMs,
      request: await digest(binding),
      round: crypto.randomUUID(),
    };
    const body = encoder.encode(JSON.stringify(sealed));
    const signature = await crypto.subtle.sign(hmac.name, await this.#key, body);
    return `${base64Url(body)}.${base64Url(new Uint8Array(signature))}`;
  }

  /** The answers of earlier rounds; throws for a state that is forged, expired or of another request. */
  async read(state: unknown, binding: StateBinding): Promise<Sealed["answers"]> {
    const refused = invalidArguments('"requestState" does not belong to this request');
    if (typeof state !== "string") throw refused;
    const [body, signature, more] = state.split(".").map(fromBase64Url);
    if (body === undefined || signature === undefined || more !== undefined) throw refused;
    if (!(await crypto.subtle.verify(hmac.name, await this.#key, signature, body))) throw refused;
    const sealed = JSON.parse(decoder.decode(body)) as Sealed;
    if (sealed.expires < this.#clock.now()) throw invalidArguments('"requestState" has expired');
    if (sealed.request !== (await digest(binding))) throw refused;
    return sealed.answers;
  }
}

/** A hash of the request without the members that differ between rounds. */
async function digest({ method, params, principal }: StateBinding): Promise<string> {
  const { _meta, inputResponses, requestState, ...rest } = params;
  const text = JSON.stringify([method, principal ?? null, sorted(rest)]);
  const hash = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return base64Url(new Uint8Array(hash));
}

/** Clients may send the members of the same request in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text)) return undefined;
  try {
    return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}
