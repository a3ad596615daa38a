import { isDeepStrictEqual } from "node:util";
import { Client } from "../../../src/client/client.ts";
import { RpcError, WireError } from "../../../src/protocol/errors.ts";
import { httpLink } from "../../../src/transports/http/fetch-link.ts";
import { cut, jsonText, mutated, pieceLengths, spaced } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

interface Input {
  readonly kind: "call" | "batch" | "stream" | "rich";
  readonly status: number;
  readonly type: string | null;
  /** Latin-1, with §0 and §1 in place of the ids of the calls. */
  readonly body: string;
  readonly pieces: readonly number[];
  /** Whether the connection breaks instead of ending. */
  readonly breaks: boolean;
}

type Methods = Record<"a" | "b", () => Promise<unknown>>;

/** A client of a hostile HTTP server. */
export const httpClient = fuzzTarget<Input>({
  holds:
    "each call settles with what a response says, or with an RpcError or a WireError; nothing throws elsewhere",
  briefly: 1_500,
  reaches: ["result", "error of the server", "wire error"],
  generate: (random) => {
    const kind = random.pick(["call", "batch", "stream", "rich"] as const);
    const [type, body] = reply(random);
    const status = random.oneIn(5) ? random.pick([204, 301, 401, 404, 429, 500, 503]) : 200;
    return { kind, status, type, body, pieces: pieceLengths(random), breaks: random.oneIn(12) };
  },
  async check({ kind, status, type, body, pieces, breaks }) {
    let sent = "";
    const link = httpLink("http://localhost/rpc", {
      maxReplyBytes: 4_000,
      fetch: async (_, init) => {
        const ids = [JSON.parse(init?.body as string)].flat().map(({ id }: { id: number }) => id);
        sent = body.replace(/§(\d)/g, (_, i) => `${ids[i % ids.length]}`);
        const bytes = cut(Buffer.from(sent, "latin1"), pieces);
        const headers = { get: (name: string) => (name === "content-type" ? type : null) };
        return { status, headers, body: streamOf(bytes, breaks) } as unknown as Response;
      },
    });
    const client = new Client<Methods>(link, kind === "rich" ? { values: "rich" } : {});
    const outcomes = await settled(client, kind);
    for (const outcome of outcomes) {
      if (outcome.status === "fulfilled") {
        if (kind === "call" && !hasResult(sent, outcome.value)) {
          broken("a result that no response has", { sent, outcome });
        }
      } else if (!isExpected(outcome.reason)) throw outcome.reason;
    }
    const [first] = outcomes;
    if (first?.status === "fulfilled") return "result";
    return first?.reason instanceof RpcError ? "error of the server" : "wire error";
  },
});

function isExpected(reason: unknown): boolean {
  return reason instanceof RpcError || reason instanceof WireError;
}

async function settled(
  client: Client<Methods>,
  kind: Input["kind"],
): Promise<readonly PromiseSettledResult<unknown>[]> {
  switch (kind) {
    case "batch":
      return client.batchSettled((b) => [b.a(), b.b()]);
    case "stream":
      return Promise.allSettled([
        (async () => {
          for await (const _ of client.stream("a" as never)) await undefined;
        })(),
      ]);
    default:
      return Promise.allSettled([client.call("a")]);
  }
}

/** Whether one of the JSON texts in the body is a response with this result. */
function hasResult(body: string, result: unknown): boolean {
  const text = Buffer.from(body, "latin1").toString();
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replace(/^\ufeff?data: ?/, ""));
  const parts = text.split(/\r\n\r\n|\r\n--b/);
  return [text, ...parts, ...lines, text.replace(/^data: ?/gm, "")].some((each) => {
    try {
      const value = (JSON.parse(each) as { result?: unknown } | null)?.result;
      return value !== undefined && isDeepStrictEqual(value, result);
    } catch {
      return false;
    }
  });
}

function streamOf(pieces: readonly Uint8Array[], breaks: boolean): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return {
    getReader: () => ({
      async read() {
        const value = left.shift();
        if (value === undefined && breaks) throw new TypeError("terminated");
        return { done: value === undefined, value };
      },
      cancel: async () => {},
      releaseLock() {},
    }),
  } as unknown as ReadableStream<Uint8Array>;
}

const jsonTypes = ["application/json", "application/json; charset=utf-8", "text/plain", null, "x"];
const eventTypes = ["text/event-stream", "text/event-stream; charset=utf-8", "TEXT/EVENT-STREAM"];
const otherTypes = [
  "application/json",
  "text/event-stream",
  "multipart/form-data; boundary=b",
  "multipart/mixed",
  "multipart/form-data",
];
const others = ["", " ", "<html>", "null", "[]", "{}", "\xff", "data:", `"${"x".repeat(5_000)}"`];
const breaks = [": alive\n\n", "id: 1\n\n", "data: [DONE]\n\n", "event: x\n"];
const partHeads = [
  'Content-Disposition: form-data; name="message"\r\nContent-Type: application/json',
  'Content-Disposition: form-data; name="0"; filename="a.txt"\r\nContent-Type: text/plain',
  'Content-Disposition: form-data; name="1"',
  "Content-Disposition: form-data",
  "X: y",
];

function reply(random: Random): readonly [type: string | null, body: string] {
  switch (random.pick([0, 0, 0, 1, 1, 2, 3])) {
    case 0: {
      const entries = (): string =>
        `[${spaced(
          random,
          random.some(4, () => response(random)),
        )}]`;
      const text = random.oneIn(4) ? entries() : response(random);
      return [random.pick(jsonTypes), latin(mutated(random, text, 5))];
    }
    case 1: {
      const events = random.some(6, () =>
        random.oneIn(4)
          ? random.pick(breaks)
          : `data: ${latin(random.oneIn(2) ? notice(random) : response(random))}\n\n`,
      );
      return [random.pick(eventTypes), events.join("")];
    }
    case 2: {
      const parts = random.some(4, () => {
        const content = random.oneIn(2)
          ? latin(response(random))
          : random.pick(["abc", "", "\r\n--b", "\xff"]);
        return `--b\r\n${random.pick(partHeads)}\r\n\r\n${content}\r\n`;
      });
      const boundary = random.pick(["b", "b", "b", "x y", "", '"q"']);
      return [`multipart/form-data; boundary=${boundary}`, `${parts.join("")}--b--\r\n`];
    }
    default:
      return [random.pick(otherTypes), random.pick(others)];
  }
}

/** UTF-8 as Latin-1; the placeholders for ids are kept. */
function latin(text: string): string {
  return Buffer.from(text).toString("latin1").replaceAll("\xc2\xa7", "§");
}

const errors = [
  '{"code":-32601,"message":"x"}',
  '{"code":1,"message":"x","data":{"a":1}}',
  '{"code":"1","message":"x"}',
  "{}",
  "null",
  '"x"',
];
const types = [
  '{"blob":[""]}',
  '{"file":["/a"]}',
  '{"bytes":["/0","/1"]}',
  '{"stream":[""]}',
  '{"date":[""]}',
  "[]",
  "1",
  '{"x":[]}',
  '{"map":[""]}',
];

function response(random: Random): string {
  const id = random.oneIn(5) ? jsonText(random, 0) : `§${random.below(2)}`;
  const places = ['"0"', '["0","1"]', '{"a":"0"}'];
  const outcome = random.oneIn(3)
    ? `"error":${random.pick(errors)}`
    : `"result":${random.oneIn(5) ? random.pick(places) : jsonText(random, 2)}`;
  const members = ['"jsonrpc":"2.0"', outcome, `"id":${id}`];
  if (random.oneIn(5)) members.push(`"types":${random.pick(types)}`);
  const extras = ['"method":"a"', '"error":null', '"id":1', '"jsonrpc":"1.0"'];
  if (random.oneIn(10)) members.push(random.pick(extras));
  return `{${spaced(random, members)}}`;
}

function notice(random: Random): string {
  const method = random.pick(["$/stream", "$/progress", "$/other", "a"]);
  const params = random.oneIn(6)
    ? jsonText(random, 1)
    : `{"id":§0,"token":§0,"value":${jsonText(random, 1)}}`;
  return `{"jsonrpc":"2.0","method":"${method}","params":${params}}`;
}
