import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { HttpSigner, IncomingHttpReply } from "../../protocol/seal.ts";
import { contentDigest, fitsContentDigest } from "./content-digest.ts";
import { Freshness } from "./freshness.ts";
import { headerOf, leavingRequest } from "./http-message.ts";
import {
  component,
  covers,
  type FoundSignature,
  ownLabel,
  type SignedMessage,
  signatureBase,
  signatureHeaders,
  signaturesOf,
} from "./http-signature.ts";
import { Key, KeyRing, type KeySource, type SigningKey } from "./key.ts";

export interface HttpSignerOptions {
  /** Signs the requests; it needs the secret or the private key. */
  readonly key: SigningKey;
  /** Whose replies are taken; without it replies are not checked. */
  readonly replyKeys?: KeySource;
  /** How far the clocks of the two ends may differ. @default 60000 */
  readonly skewMs?: number;
  /** The clock of timestamps, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

const components = ["@method", "@authority", "@path", "content-type", "content-digest"].map(
  (name) => component(name),
);
const withQuery = [...components, component("@query")];

/** How long a request is valid; the other end allows for the skew of the clocks by itself. */
const validSeconds = 60;

/**
 * Signs requests over HTTP by RFC 9421: `httpLink(url, { signer: httpSigner({ key }) })`.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 * import { createSigningKey, httpSigner } from "callwire/security/signing";
 *
 * const { signer } = createSigningKey("ed25519", "client-1");
 * const link = httpLink("https://api.example.com/rpc", { signer: httpSigner({ key: signer }) });
 * await createClient<typeof methods>(link).api.echo("hi");
 * ```
 */
export function httpSigner(options: HttpSignerOptions): HttpSigner {
  const { clock = systemClock, replyKeys, skewMs } = options;
  const key = new Key(options.key);
  const ring = replyKeys === undefined ? undefined : new KeyRing(replyKeys);
  const times = new Freshness({ clock, ...(skewMs === undefined ? undefined : { skewMs }) });
  return {
    sign({ method, url, headers, body }) {
      const all = { ...headers, "content-digest": contentDigest(body) };
      const created = Math.floor(clock.now() / 1000);
      const parameters = new Map<string, string | number>([
        ["created", created],
        ["expires", created + validSeconds],
        ["nonce", randomBytes(16).toString("base64url")],
      ]);
      const request = leavingRequest(method, url, all);
      const signed = new URL(url).search === "" ? components : withQuery;
      return { ...all, ...signatureHeaders(request, key, signed, parameters) };
    },
    check:
      ring === undefined
        ? undefined
        : async (reply, sent) => {
            const fault = await replyFault(reply, sent, ring, times);
            if (fault === undefined) return;
            throw new WireError("BAD_REPLY", fault, { status: reply.status });
          },
  };
}

/** One sentence on why a reply cannot be trusted, or undefined. */
async function replyFault(
  reply: IncomingHttpReply,
  sent: Readonly<Record<string, string>>,
  ring: KeyRing,
  times: Freshness,
): Promise<string | undefined> {
  const message: SignedMessage = {
    derived: (name) => (name === "@status" ? `${reply.status}` : undefined),
    header: (name) => reply.header(name),
    request: { derived: () => undefined, header: headerOf(sent) },
  };
  const [found] = signaturesOf(message) ?? [];
  const kid = found?.input.parameters.get("keyid");
  if (found === undefined || typeof kid !== "string") {
    return reply.status < 400
      ? "the reply is not signed"
      : `the server refused with ${reply.status} and did not sign it`;
  }
  const key = await ring.find(kid, times.clock.now());
  const base = signatureBase(message, found.input);
  const digest = reply.header("content-digest");
  const valid =
    key !== undefined &&
    base !== undefined &&
    coversReply(found) &&
    key.verify(base, found.signature) &&
    digest !== undefined &&
    fitsContentDigest(reply.body, digest);
  if (!valid) return "the signature of the reply is not valid";
  return times.refuseTime(found.input.parameters.get("created")) === undefined
    ? undefined
    : "the signature of the reply has expired";
}

/** The request's own signature must be among it, or the reply to another request would do. */
function coversReply({ input }: FoundSignature): boolean {
  const bound = input.items.some(
    ({ value, parameters }) =>
      value === "signature" && parameters.get("req") === true && parameters.get("key") === ownLabel,
  );
  return bound && covers(input, "@status") && covers(input, "content-digest");
}
