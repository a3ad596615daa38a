import { defaultLimits } from "../../../src/protocol/limits.ts";
import { Origin } from "../../../src/protocol/origin.ts";
import { httpSigner } from "../../../src/security/signing/http-signer.ts";
import type { SigningKey } from "../../../src/security/signing/key.ts";
import { signedMessages } from "../../../src/security/signing/signed-messages.ts";
import { signedRequests } from "../../../src/security/signing/signed-requests.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

const clock = new FakeClock(Date.UTC(2026, 0, 1));
const key: SigningKey = { kid: "a", alg: "hmac-sha256", key: Buffer.alloc(32, 7) };
const otherKey: SigningKey = { kid: "b", alg: "hmac-sha256", key: Buffer.alloc(32, 9) };
/** Every nonce is new, so that only the signature decides. */
const nonces = { take: () => "new" as const };
const verifier = signedRequests({ keys: [key, otherKey], clock, nonces });
const signer = httpSigner({ key, clock });

/** What an attacker does to a text. */
interface Change {
  readonly at: number;
  readonly removed: number;
  readonly added: string;
}

type Parts = Record<string, string>;

interface Request {
  readonly target: string;
  readonly body: string;
  readonly changes: readonly (Change & { readonly in: string })[];
}

/** A signed request that was changed in transit. */
export const signedHttp = fuzzTarget<Request>({
  holds:
    "a request is accepted if it was not changed, and only if its method, authority, path, query, content type and body are those that were signed",
  briefly: 4_000,
  reaches: ["accepted", "refused"],
  generate: (random) => ({
    target: random.pick(["/rpc", "/rpc?a=b", "/", "/rpc?", "/a%2fb?x=%20"]),
    body: random.pick(['{"jsonrpc":"2.0","method":"pay","params":[1],"id":1}', "", "[]", "grüße"]),
    changes: random.some(3, () => ({ in: random.pick(places), ...change(random) })),
  }),
  async check({ target, body, changes }) {
    const url = `http://localhost:8000${target}`;
    const headers = { "content-type": "application/json" };
    const signed = await signer.sign({ method: "POST", url, headers, body });
    const before: Parts = { method: "POST", authority: "localhost:8000", target, body, ...signed };
    const after = { ...before };
    for (const each of changes) after[each.in] = changed(after[each.in] ?? "", each);
    const { method, authority, target: asked, body: got, ...rest } = after;
    const http = { method, authority, target: asked, body: got, signReply: undefined };
    const verdict = await verifier.verify({
      kind: "http",
      headers: rest,
      remoteAddress: undefined,
      http,
    } as never);
    const isAccepted = typeof verdict === "object" && verdict !== null && "id" in verdict;
    const isSame = JSON.stringify(covered(after)) === JSON.stringify(covered(before));
    if (isAccepted && !isSame) broken("a changed request was accepted", { before, after });
    if (!isAccepted && changes.length === 0) broken("it was refused", { before, verdict });
    return isAccepted ? "accepted" : "refused";
  },
});

/**
 * A proxy may add a scheme and host before the path, and an empty query does not change the
 * meaning.
 */
function covered({ method, authority = "", target = "", body, ...headers }: Parts): unknown {
  const [, path = "", query = ""] = /^(?:https?:\/\/[^/?#]*)?([^?]*)\??(.*)$/is.exec(target) ?? [];
  const type = headers["content-type"]?.trim();
  return { method, authority: authority.toLowerCase(), path: path || "/", query, body, type };
}

function changed(text: string, { at, removed, added }: Change): string {
  const start = at % (text.length + 1);
  return text.slice(0, start) + added + text.slice(start + removed);
}

const places = [
  "signature-input",
  "signature",
  "content-digest",
  "content-type",
  "body",
  "target",
  "method",
  "authority",
];
const additions = [
  ...["", " ", "a", '"', ";", ",", "=", "(", ")", ":", "1", "0", "?", "/", "\t", "\\", "-", "ä"],
  ...[';alg="ed25519"', ";req", ';key="a"', ', x=("@method")', '"@path"', ' "@query"', "callwire"],
  ...['keyid="b"', "sha-512=:AA==:", "==", "?a=b", "GET", '"jws":"', "..", "\\u0022"],
];

function change(random: Random): Change {
  return {
    at: random.below(random.pick([2, 20, 400])),
    removed: random.pick([0, 1, 0, 2, 15, 60]),
    added: random.pick(additions),
  };
}

const seals = {
  client: signedMessages({ key, keys: [otherKey], clock, nonces }),
  server: signedMessages({ key: otherKey, keys: [key], clock, nonces }),
};
const transport = { kind: "hand", headers: {}, remoteAddress: undefined };

interface Arrival {
  /** Which of the messages sent so far arrives, counted from the last. */
  readonly back: number;
  readonly changes: readonly Change[];
}

/** Signed messages of a connection that arrive changed, repeated, in another order or not at all. */
export const signedConnection = fuzzTarget<{ arrivals: readonly Arrival[] }>({
  holds: "a message is accepted only as it was sent, once, and in the order in which it was sent",
  briefly: 3_000,
  reaches: ["accepted", "refused"],
  generate: (random) => ({
    arrivals: random.some(6, () => ({
      back: random.oneIn(4) ? random.below(4) : 0,
      changes: random.oneIn(3) ? random.some(2, () => change(random)) : [],
    })),
  }),
  async check({ arrivals }) {
    const [client, server] = [seals.client(), seals.server()];
    const origin = new Origin(transport, undefined as never, defaultLimits);
    const sent: string[] = [];
    let last = -1;
    let refused = 0;
    for (const [i, { back, changes }] of arrivals.entries()) {
      sent.push(client.seal(messageOf(i)));
      const index = Math.max(0, i - back);
      const text = changes.reduce(changed, sent[index] as string);
      const opened = await server.open(text, origin);
      if (typeof opened !== "string") {
        refused++;
        if (changes.length === 0 && index > last) broken("a message was refused", opened);
        continue;
      }
      const place = Number(/"id":(\d+)/.exec(opened)?.[1]);
      if (opened !== messageOf(place)) broken("a changed message was accepted", { opened });
      if (place <= last) broken("a message was accepted twice or too late", { opened, last });
      if (origin.principal?.id !== "a") broken("another principal", origin.principal);
      last = place;
    }
    return refused > 0 ? "refused" : "accepted";
  },
});

function messageOf(id: number): string {
  return `{"jsonrpc":"2.0","method":"m${id}","params":["grüße"],"id":${id}}`;
}
