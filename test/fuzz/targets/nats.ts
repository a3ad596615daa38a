import { Client } from "../../../src/client/client.ts";
import { RpcError, WireError } from "../../../src/protocol/errors.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { method } from "../../../src/server/method.ts";
import { createServer } from "../../../src/server/server.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";
import {
  createHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from "../../../src/transports/nats/client-library.ts";
import { transportOf } from "../../../src/transports/nats/headers.ts";
import { natsLink } from "../../../src/transports/nats/link.ts";
import { NatsWorker } from "../../../src/transports/nats/serve.ts";
import { Subjects } from "../../../src/transports/nats/subjects.ts";
import { jsonText, mutated } from "../json.ts";
import { settle } from "../peer.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { type Expected, membersOf, message, replyTo } from "./answer.ts";

type Callback = (error: null, message: Msg) => void;

interface Published {
  readonly subject: string;
  readonly text: string;
  readonly reply: string;
}

/**
 * A connection to NATS without nats-server: the target delivers messages, and sees what is
 * published.
 */
class Broker {
  readonly published: Published[] = [];
  readonly #subscriptions: { readonly pattern: RegExp; readonly callback: Callback }[] = [];
  readonly info = { max_payload: 1024 * 1024 };

  get connection(): NatsConnection {
    return this as unknown as NatsConnection;
  }

  subscribe(subject: string, { callback }: { callback: Callback }) {
    const tokens = subject.split(".").map((token) => {
      if (token === "*") return "[^.]+";
      return token === ">" ? ".+" : token.replace(/[$^+?()[\]{}|\\]/g, "\\$&");
    });
    const entry = { pattern: new RegExp(`^${tokens.join("\\.")}$`), callback };
    this.#subscriptions.push(entry);
    return { unsubscribe() {}, drain: async () => {}, closed: Promise.resolve() };
  }

  publish(subject: string, text: string, { reply = "" }: { reply?: string } = {}): void {
    this.published.push({ subject, text, reply });
  }

  /** Delivers a message to the first subscription for its subject. */
  deliver(subject: string, text: string, reply: string, headers?: MsgHdrs | "broken"): boolean {
    const found = this.#subscriptions.find(({ pattern }) => pattern.test(subject));
    const sent = {
      subject,
      reply,
      data: Buffer.from(text),
      get headers() {
        if (headers === "broken") throw new Error("bad headers");
        return headers;
      },
    };
    found?.callback(null, sent as unknown as Msg);
    return found !== undefined;
  }

  async flush(): Promise<void> {}

  async *status(): AsyncGenerator<never> {
    await new Promise(() => {});
  }

  closed(): Promise<void> {
    return new Promise(() => {});
  }

  isClosed(): boolean {
    return false;
  }

  isDraining(): boolean {
    return false;
  }
}

const subjects = new Subjects("rpc");

/** Names of methods as subjects, on which permissions are granted. */
export const natsSubjects = fuzzTarget<{ method: string }>({
  holds:
    "the subject of a method is valid, below the base, never that of batches or of unknown methods, and leads back to the name, but for / and .",
  briefly: 50_000,
  reaches: ["subject", "any"],
  generate: (random) => ({ method: random.some(8, () => random.pick(letters)).join("") }),
  check({ method }) {
    const subject = subjects.of(method);
    if (subject === subjects.any) {
      const isOdd = method.length > 200 || /\p{Surrogate}/u.test(method);
      if (!isOdd) broken("a usual name has no subject", { subject });
      return "any";
    }
    const tokens = subject.split(".");
    const isValid = tokens.every((token) => /^[^\s*>]+$/.test(token)) && tokens[0] === "rpc";
    const own = [subjects.batch, subjects.any, subjects.leaving];
    if (!isValid || own.includes(subject)) broken("not a subject for a method", { subject });
    const name = tokens.slice(1).map((token) => (token === "%" ? "" : decodeURIComponent(token)));
    if (name.join(".") !== method.replaceAll("/", ".")) broken("another name", { subject, name });
    return "subject";
  },
});

const letters = [
  ...["a", "math", "/", ".", "*", ">", "%", " ", "$", "$batch", "$any", "~", "!", "(", "é", "🙂"],
  ...["\ud800", "\u0000", "\n", "%2F", "x".repeat(60), "_INBOX", "'", "\\", "-", "0"],
];

let calls: string[] = [];
const counted =
  (name: string, result: (params: unknown[]) => unknown) =>
  (...params: unknown[]): unknown => {
    calls.push(name);
    return result(params);
  };
const fails = (): never => {
  throw new Error("secret");
};
const service = createServer(
  {
    echo: counted("echo", (params) => params),
    later: counted("later", async () => "later"),
    open: method(
      {},
      (_, { signal }) => new Promise((end) => signal.addEventListener("abort", end)),
    ),
    fail: counted("fail", fails),
    boom: counted("boom", fails),
    math: { count: counted("math/count", ({ length }) => length) },
  },
  { discover: false, log: silentLog, overload: false },
);

interface Arrival {
  readonly subject: string;
  readonly text: string;
  readonly reply: string;
  readonly headers: readonly (readonly [string, string])[] | "broken" | null;
}

/** A NATS worker with hostile callers. */
export const natsWorker = fuzzTarget<{ arrivals: readonly Arrival[] }>({
  holds:
    "a method runs only for a message at its own subject; each call has one reply, at its reply subject; nothing is published outside of inboxes; nothing throws into the client of NATS",
  briefly: 1_300,
  reaches: ["called", "not called"],
  generate: (random) => ({ arrivals: random.some(6, () => arrival(random)) }),
  async check({ arrivals }) {
    worked ??= startWorker();
    const { broker, worker } = worked;
    // Runs until the end, so that messages about a call find it.
    broker.deliver("rpc.open", '{"jsonrpc":"2.0","method":"open","id":1}', "_INBOX.b.cw.7");
    broker.published.length = 0;
    let total = 0;
    for (const { subject, text, reply, headers } of arrivals) {
      calls = [];
      const before = broker.published.length;
      const at = subject.replace("§worker", worker.id);
      const isHeard = broker.deliver(at, text, reply, headersOf(headers));
      await settle();
      const published = broker.published.slice(before);
      total += calls.length;
      const strays = published.filter((each) => !/^(_INBOX|_R_)\./.test(each.subject));
      if (strays.length > 0) broken("published outside of inboxes", { strays });
      const isOpen = [subjects.any, subjects.batch].includes(at);
      const wrong = calls.filter((name) => !isOpen && subjects.of(name) !== at);
      if (wrong.length > 0) broken("ran at the subject of another method", { at, wrong });
      const isAccepted = isHeard && reply.startsWith("_INBOX.") && !/[*>]/.test(reply);
      const isOwn = isOpen || isFor(at, text);
      // A lone surrogate is another character on the wire.
      const heard = Buffer.from(text).toString();
      if (isAccepted && isOwn && headers !== "broken") compare(heard, published);
    }
    const cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}';
    broker.deliver("_CALLWIRE.rpc.workers", cancel, "_INBOX.b.cw.7");
    await settle();
    return total > 0 ? "called" : "not called";
  },
});

/** The service keeps its workers, so all inputs share one. */
let worked: ReturnType<typeof startWorker> | undefined;

function startWorker() {
  const broker = new Broker();
  const clock = new FakeClock();
  return { broker, worker: new NatsWorker(service, broker.connection, { subject: "rpc", clock }) };
}

/** Whether a message is a single call at the subject of its method. */
function isFor(subject: string, text: string): boolean {
  try {
    const { method } = JSON.parse(text) as { method?: unknown };
    return typeof method === "string" && subjects.of(method) === subject;
  } catch {
    return false;
  }
}

/** Each call has one reply, and anything else has none. */
function compare(text: string, published: readonly Published[]): void {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return;
  }
  const entries = [payload].flat() as unknown[];
  const isPlain = entries.every(
    (entry) => `${(entry as { method?: unknown } | null)?.method}`.charAt(0) !== "$",
  );
  if (!isPlain || entries.length === 0) return;
  const found: Expected = { replies: undefined, calls: 0, written: [], isParsed: true };
  const members = membersOf(text);
  const wanted = entries.map((entry, i) => replyTo(entry, members[i] ?? [], found));
  const ids = wanted.filter((reply) => reply !== undefined).map(([id]) => id);
  const given = published
    .flatMap((each) => [JSON.parse(each.text)].flat() as { id?: unknown; method?: unknown }[])
    .filter((sent) => sent.method === undefined)
    .map((sent) => sent.id);
  const isSame = JSON.stringify(given) === JSON.stringify(ids) && calls.length === found.calls;
  if (!isSame) broken("not one reply for each call", { given, ids, calls, wanted: found.calls });
}

function headersOf(headers: Arrival["headers"]): MsgHdrs | "broken" | undefined {
  if (headers === null || headers === "broken") return headers ?? undefined;
  const written = createHeaders();
  for (const [name, value] of headers) {
    try {
      written.append(name, value);
    } catch {
      // NATS does not carry such a header.
    }
  }
  const { headers: seen } = transportOf(written);
  if (Object.getPrototypeOf(seen) !== null) broken("headers have a prototype", {});
  return written;
}

const targets = [
  ...["echo", "later", "fail", "math.count", "$any", "$batch"].map((name) => `rpc.${name}`),
  ...["_CALLWIRE.rpc.workers", "_CALLWIRE.rpc.§worker.cw.0", "_CALLWIRE.rpc.§worker.cw.1"],
  ...["$SRV.PING", "$SRV.INFO.rpc", "$SRV.STATS.rpc.§worker", "rpc.none"],
];
const replies = [
  ...["_INBOX.a.1", "_INBOX.a.2", "_INBOX.b.cw.7", "_INBOX.b.cw.8", "", "_R_.x.y", "orders.new"],
  ...["rpc.echo", "$JS.API.STREAM.DELETE.x", "_INBOX.>", "_INBOX.a.*", "_CALLWIRE.rpc.workers"],
];
const headerNames = [
  "timeout-ms",
  "traceparent",
  "__proto__",
  "Nats-Msg-Id",
  "a b",
  "callwire-items",
];
const headerValues = ["1", "-1", "x", "", "1e9", "99999999999999999999", "ä"];
const controls = [
  ...["$/cancelRequest", "$/credit", "$/held", "$/upload", "$/uploadCredit", "$/ping", "$/gone"],
  ...["$/hello", "$/unwanted", "$/stream", "$/progress"],
];
/** JSON can nest that deep, and the stack cannot. */
const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

function arrival(random: Random): Arrival {
  const headers = random.some(
    2,
    () => [random.pick(headerNames), random.pick(headerValues)] as const,
  );
  return {
    subject: random.pick(targets),
    text: random.oneIn(5) ? control(random) : mutated(random, texts(random), 8),
    reply: random.oneIn(2) ? random.pick(replies) : "_INBOX.a.1",
    headers: random.oneIn(15) ? "broken" : random.oneIn(3) ? headers : null,
  };
}

function texts(random: Random): string {
  if (!random.oneIn(6)) return message(random);
  return `[${random.some(4, () => message(random)).join(",")}]`;
}

function control(random: Random): string {
  const members = [
    ...["id", "token", "held", "count", "value", "seq", "total", "items", "given", "uploaded"],
    "reply",
  ];
  const value = (): string =>
    random.pick([() => jsonText(random, 1), () => "1", () => (random.oneIn(5) ? deep : "0")])();
  const params = random.some(4, () => `"${random.pick(members)}":${value()}`);
  const id = random.oneIn(10) ? `"id":${value()},` : "";
  return `{"jsonrpc":"2.0",${id}"method":"${random.pick(controls)}","params":{${params.join(",")}}}`;
}

interface Said {
  readonly text: string;
  /** The last token of the subject in the mailbox of the link; empty for the reply subject of the call. */
  readonly token: string;
  readonly headers: Arrival["headers"];
}

/** A client on NATS with a hostile worker. */
export const natsClient = fuzzTarget<{ said: readonly Said[] }>({
  holds:
    "each call settles once, with a result, an RpcError or a WireError; nothing throws into the client of NATS",
  briefly: 800,
  reaches: ["result", "error of the server", "wire error"],
  generate: (random) => ({
    said: random.some(6, () => ({
      text: random.oneIn(3) ? control(random).replaceAll('"id":0', '"id":§id') : answer(random),
      token: random.oneIn(4) ? random.pick(["0", "1", "x", ">"]) : "",
      headers: random.oneIn(12)
        ? "broken"
        : random.oneIn(4)
          ? [["callwire-items", random.pick(headerValues)] as const]
          : null,
    })),
  }),
  async check({ said }) {
    const broker = new Broker();
    const clock = new FakeClock();
    const link = natsLink(broker.connection, { subject: "rpc", clock });
    const client = new Client(link, { clock });
    const calls = [
      client.call("a" as never),
      (async () => {
        for await (const _ of client.stream("b" as never)) await settle();
      })(),
    ];
    const settling = Promise.allSettled(calls);
    await settle();
    const asked = broker.published.filter(({ reply }) => reply !== "");
    for (const [i, { text, token, headers }] of said.entries()) {
      const call = asked[i % asked.length];
      if (call === undefined) break;
      const id = (JSON.parse(call.text) as { id: unknown }).id;
      const box = call.reply.slice(0, call.reply.lastIndexOf("."));
      const subject = token === "" ? call.reply : `${box}.${token}`;
      broker.deliver(subject, text.replaceAll("§id", `${id}`), "_INBOX.w.1", headersOf(headers));
      await settle();
    }
    await link.close();
    const [first, ...others] = await settling;
    for (const outcome of [first, ...others]) {
      if (outcome?.status !== "rejected") continue;
      const { reason } = outcome;
      if (!(reason instanceof RpcError || reason instanceof WireError)) throw reason;
    }
    if (first?.status === "fulfilled") return "result";
    return first?.reason instanceof RpcError ? "error of the server" : "wire error";
  },
});

function answer(random: Random): string {
  const outcome = random.oneIn(3)
    ? `"error":${random.pick(['{"code":1,"message":"x"}', "{}", "1", "null"])}`
    : `"result":${jsonText(random, 2)}`;
  return mutated(random, `{"jsonrpc":"2.0",${outcome},"id":§id}`, 6);
}
