import { randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { HttpSigner, IncomingHttpReply } from "../../protocol/seal.ts";
import { Freshness } from "./freshness.ts";
import {
  component,
  contentDigest,
  covers,
  type FoundSignature,
  fitsContentDigest,
  headerOf,
  leavingRequest,
  ownLabel,
  type SignedMessage,
  signatureBase,
  signatureHeaders,
  signaturesOf,
} from "./http-signature.ts";
import { Key, KeyRing, type KeySource, type SigningKey } from "./key.ts";

export interface HttpSignerOptions {
  /** Signs the requests. */
  readonly key: SigningKey;
  /** Keys that may sign replies; without them replies are not verified. @default none */
  readonly replyKeys?: KeySource;
  /** How much the clocks of client and server may differ. @default 60000 */
  readonly skewMs?: number;
  /** The time of day, for time stamps. @default the system clock */
  readonly clock?: Clock;
}

const components = ["@method", "@authority", "@path", "content-type", "content-digest"].map(
  (name) => component(name),
);
const withQuery = [...components, component("@query")];

/** How long a request is valid; the server also allows for clock skew. */
const validSeconds = 60;

/**
 * Signs HTTP requests according to RFC 9421: `httpLink(url, { signer: httpSigner({ key }) })`.
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

/** Why a reply cannot be trusted, in one sentence; undefined if it can. */
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
      : `the server replied with status ${reply.status}, without a signature`;
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

/** The reply must cover the signature of its request, or a reply to another request would pass. */
function coversReply({ input }: FoundSignature): boolean {
  const bound = input.items.some(
    ({ value, parameters }) =>
      value === "signature" && parameters.get("req") === true && parameters.get("key") === ownLabel,
  );
  return bound && covers(input, "@status") && covers(input, "content-digest");
}
