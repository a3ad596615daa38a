import { Client } from "../../../src/client/client.ts";
import { Connection } from "../../../src/connection/connection.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { shuttingDown } from "../../../src/protocol/standard-errors.ts";
import { stream } from "../../../src/server/method.ts";
import { createServer } from "../../../src/server/server.ts";
import { jsonText, mutated, spaced } from "../json.ts";
import { Peer, settle } from "../peer.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { type Expected, membersOf, message, replyTo } from "./answer.ts";

let calls = 0;
const counted =
  <Result>(run: (params: unknown[]) => Result) =>
  (...params: unknown[]): Result => {
    calls++;
    return run(params);
  };

const failing = counted(() => {
  throw new Error("secret");
});

const service = createServer(
  {
    echo: counted((params) => params),
    later: counted(async () => "later"),
    fail: failing,
    boom: failing,
    math: { count: counted(({ length }) => length) },
    numbers: stream({}, async function* () {
      for (let i = 0; i < 20; i++) yield i;
    }),
  },
  { discover: false, log: silentLog, overload: false },
);

type Step = string | "fault" | "turn";

const transport = { kind: "hand", headers: {}, remoteAddress: undefined };

/** A hostile peer on a wire in both directions: replies, notices and calls, in any order. */
export const connection = fuzzTarget<{ steps: readonly Step[] }>({
  holds:
    "each own call settles once, whatever the peer sends; each call of the peer runs once and has one reply, and nothing else has any; after the end nothing waits",
  briefly: 700,
  reaches: ["answered", "closed by it"],
  generate: (random) => ({ steps: random.some(12, () => step(random)) }),
  async check({ steps }) {
    const peer = new Peer();
    const connection = new Connection(peer, { service, transport, log: silentLog });
    const client = new Client<Record<"c" | "d", () => Promise<unknown>>>(connection);
    const batch = client.batchSettled((b) => [b.c(), b.d()]);
    const own: Promise<unknown>[] = [
      client.call("a" as never),
      client.call("b" as never, [1] as never, { onProgress: () => {} }),
      batch,
      (async () => {
        for await (const _ of client.stream("e" as never)) await settle();
      })(),
    ];
    const settled = own.map(() => 0);
    for (const [i, promise] of own.entries()) {
      const count = (): void => {
        settled[i] = (settled[i] ?? 0) + 1;
      };
      promise.then(count, count);
    }
    await settle();
    const ids = peer.sent.flatMap((text) =>
      [JSON.parse(text)].flat().map(({ id }: { id: number }) => id),
    );
    let isClosed = false;
    for (const each of steps) {
      if (each === "turn") await settle();
      else if (each === "fault") peer.garble();
      else
        await hear(
          peer,
          connection,
          each.replace(/§(\d)/g, (_, i) => `${ids[i % ids.length]}`),
        );
      isClosed ||= !connection.isOpen;
    }
    peer.end(new Error("the wire broke"));
    await Promise.allSettled(own);
    await settle();
    if (settled.some((count) => count !== 1)) broken("a call did not settle once", settled);
    if (connection.pending !== 0) broken("calls are left", connection.pending);
    return isClosed ? "closed by it" : "answered";
  },
});

async function hear(peer: Peer, connection: Connection, text: string): Promise<void> {
  const before = peer.sent.length;
  const wasOpen = connection.isOpen;
  calls = 0;
  peer.say(text);
  await settle();
  const ran = calls;
  const replies = peer.sent
    .slice(before)
    .flatMap((sent) => [JSON.parse(sent)].flat() as { id?: unknown; method?: unknown }[])
    .filter(({ method }) => method === undefined);
  if (!wasOpen && replies.length > 0) broken("replied after it was closed", replies);
  if (!wasOpen || !connection.isOpen) return;
  const wanted = expected(text);
  // A notice that is not quite valid may be accepted or refused.
  const given = replies.map(({ id }) => id).filter((id) => id !== null || !wanted.hasNotice);
  if (JSON.stringify(given) !== JSON.stringify(wanted.ids)) {
    broken("replies are missing or too many", { text, given, wanted });
  }
  if (ran !== wanted.calls) broken("not every call ran once", { text, ran, wanted });
}

interface Wanted {
  readonly ids: readonly unknown[];
  readonly calls: number;
  readonly hasNotice: boolean;
}

const refused: Wanted = { ids: [null], calls: 0, hasNotice: false };

function expected(text: string): Wanted {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return refused;
  }
  if (Array.isArray(payload) && payload.length === 0) return refused;
  const found: Expected = { replies: undefined, calls: 0, written: [], isParsed: true };
  const members = membersOf(text);
  const asked = [payload]
    .flat()
    .map((entry: unknown, i) => ({ entry, members: members[i] ?? [] }))
    .filter(({ entry }) => !isReply(entry));
  const hasCalls = asked.some(({ entry }) => !isNotice(entry));
  if (Array.isArray(payload) && payload.length > 100 && hasCalls) return refused;
  const hasNotice = asked.some(({ entry }) => isNotice(entry));
  const replies = asked.map((each) => replyTo(each.entry, each.members, found));
  const ids = replies.filter((reply) => reply !== undefined).map(([id]) => id);
  return { ids: ids.filter((id) => id !== null || !hasNotice), calls: found.calls, hasNotice };
}

function isReply(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return false;
  const { method, result, error } = entry as Record<string, unknown>;
  return method === undefined && (result !== undefined || error !== undefined);
}

function isNotice(entry: unknown): boolean {
  const { method, id } = (entry ?? {}) as Record<string, unknown>;
  return id === undefined && typeof method === "string" && method.startsWith("$/");
}

const notices = [
  "$/stream",
  "$/progress",
  "$/cancelRequest",
  "$/credit",
  "$/upload",
  "$/uploadCredit",
  "$/other",
];
const errors = [
  JSON.stringify(shuttingDown),
  '{"code":-32001,"message":"Unauthenticated"}',
  '{"code":-32603,"message":"x"}',
  '{"code":-32600,"message":"x","data":{"limit":"maxBatch","max":1}}',
  '{"code":1.5,"message":"x"}',
  '{"code":1}',
  "null",
  '"x"',
  "1",
];

function step(random: Random): Step {
  if (random.oneIn(12)) return random.pick(["turn", "fault"]);
  if (random.oneIn(300)) {
    // More entries than a batch of calls may have.
    const reply = '{"jsonrpc":"2.0","result":1,"id":"none"}';
    return `[${[...Array(95 + random.below(12)).fill(reply), message(random)].join(",")}]`;
  }
  if (!random.oneIn(5)) return mutated(random, one(random), 6);
  const entries = random.some(5, () => one(random));
  return mutated(random, `[${spaced(random, entries)}]`, 6);
}

function one(random: Random): string {
  switch (random.below(4)) {
    case 0:
      return message(random);
    case 1:
      return notice(random);
    case 2: {
      const members = ['"jsonrpc":"2.0"', `"result":${jsonText(random, 2)}`, `"id":${own(random)}`];
      if (random.oneIn(10)) members.push(random.pick(extras));
      return `{${spaced(random, members)}}`;
    }
    default:
      return `{"jsonrpc":"2.0","error":${random.pick(errors)},"id":${own(random)}}`;
  }
}

const extras = ['"types":{"date":["/a"]}', '"types":{}', '"error":null', '"id":1', '"method":null'];
const types = ['{"date":["/a"]}', "{}", "1", '{"x":1}', '{"date":[""]}'];

function notice(random: Random): string {
  const method = random.pick(notices);
  const params = [`"${method === "$/progress" ? "token" : "id"}":${own(random)}`];
  if (!random.oneIn(4)) params.push(`"value":${jsonText(random, 1)}`);
  if (random.oneIn(3)) params.push(`"count":${jsonText(random, 0)}`);
  if (random.oneIn(6)) params.push(`"types":${random.pick(types)}`);
  if (random.oneIn(6)) params.push('"done":true');
  const given = random.oneIn(10) ? jsonText(random, 1) : `{${params.join(",")}}`;
  return `{"jsonrpc":"2.0","method":"${method}","params":${given}}`;
}

/** The id of one of our calls, or another. */
function own(random: Random): string {
  if (random.oneIn(5)) return random.oneIn(2) ? "null" : jsonText(random, 1);
  const id = `§${random.below(7)}`;
  return random.oneIn(12) ? `"${id}"` : id;
}
