import { RpcError } from "../../../src/protocol/errors.ts";
import { createServer } from "../../../src/server/server.ts";
import { arrayText, jsonText, mutated, objectText, spaced, stringText } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

let calls = 0;
const server = createServer(
  {
    echo: (...params: unknown[]) => {
      calls++;
      return params;
    },
    later: async () => {
      calls++;
      return "later";
    },
    fail: () => {
      calls++;
      throw new RpcError(1001, "Failed", { data: { a: 1 } });
    },
    boom: () => {
      calls++;
      throw new Error("secret");
    },
    math: {
      count: (...params: unknown[]) => {
        calls++;
        return params.length;
      },
    },
  },
  { discover: false, log: { warn() {}, error() {}, info() {}, debug() {} } },
);

const limits = { batch: 100, depth: 64, id: 256 };

/**
 * Answers each text with the server, and compares the answer with what the specification says,
 * implemented in the plainest way.
 */
export const answer = fuzzTarget<{ text: string }>({
  holds:
    "each message has exactly the reply that a naive reading of JSON-RPC 2.0 gives it, under its own id; each valid call runs once",
  briefly: 6_000,
  reaches: ["replied", "silent", "unreadable"],
  generate: (random) => ({ text: payload(random) }),
  check({ text }) {
    calls = 0;
    const given = server.receive(text);
    if (given instanceof Promise) return given.then((reply) => compared(text, reply));
    return compared(text, given);
  },
});

function compared(text: string, given: string | undefined): string {
  const ran = calls;
  calls = 0;
  const wanted = expected(text);
  const replies = given === undefined ? undefined : (JSON.parse(given) as unknown);
  const facts = given === undefined ? undefined : factsOf(replies);
  if (JSON.stringify(facts) !== JSON.stringify(wanted.replies) || ran !== wanted.calls) {
    broken("the reply is not the expected one", { given, facts, wanted, ran });
  }
  for (const id of wanted.written) {
    if (!given?.includes(`"id":${id}`)) broken("an id was not echoed as written", { given, id });
  }
  if (given?.includes("secret")) broken("the message of an error was disclosed", { given });
  return given === undefined ? "silent" : wanted.isParsed ? "replied" : "unreadable";
}

type Facts = [id: unknown, outcome: unknown];

function factsOf(reply: unknown): Facts[] | Facts {
  if (Array.isArray(reply)) return reply.map((each) => factsOf(each) as Facts);
  const { jsonrpc, id, result, error, ...rest } = reply as Record<string, unknown>;
  if (jsonrpc !== "2.0" || Object.keys(rest).length > 0 || id === undefined)
    broken("not a reply", reply);
  if ((result === undefined) === (error === undefined)) broken("not one outcome", reply);
  return [id, error === undefined ? { result } : (error as { code: number }).code];
}

export interface Expected {
  replies: Facts[] | Facts | undefined;
  calls: number;
  written: string[];
  isParsed: boolean;
}

function expected(text: string): Expected {
  const found: Expected = { replies: undefined, calls: 0, written: [], isParsed: true };
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    return { ...found, replies: [null, -32700], isParsed: false };
  }
  if (!Array.isArray(payload))
    return {
      ...found,
      replies: replyTo(payload, membersOf(text)[0] ?? [], found),
      calls: found.calls,
    };
  if (payload.length === 0 || payload.length > limits.batch)
    return { ...found, replies: [null, -32600] };
  const members = membersOf(text);
  const replies = payload.map((entry, i) => replyTo(entry, members[i] ?? [], found));
  const due = replies.filter((reply) => reply !== undefined);
  return { ...found, replies: due.length === 0 ? undefined : due, calls: found.calls };
}

export function replyTo(
  message: unknown,
  members: readonly Member[],
  found: Expected,
): Facts | undefined {
  if (typeof message !== "object" || message === null || Array.isArray(message))
    return [null, -32600];
  const { jsonrpc, method, params, id } = message as Record<string, unknown>;
  const names = members.map(([name]) => name);
  const isTwice = Object.hasOwn(message, "method") && new Set(names).size < names.length;
  const digits = members.findLast(([name]) => name === "id")?.[1] ?? "";
  const isLong =
    typeof id === "string"
      ? id.length > limits.id
      : typeof id === "number" && !Number.isSafeInteger(id) && digits.length > limits.id;
  const isReadable = (typeof id === "string" || typeof id === "number") && !isLong;
  const named =
    isTwice && names.filter((name) => name === "id").length > 1 ? null : isReadable ? id : null;
  if (typeof named === "number" && !Number.isSafeInteger(named)) found.written.push(digits);
  const isValid =
    !isTwice &&
    jsonrpc === "2.0" &&
    typeof method === "string" &&
    (params === undefined ||
      (typeof params === "object" && params !== null && depthOf(params) < limits.depth)) &&
    (id === undefined || id === null || isReadable);
  if (!isValid) return [named, -32600];
  const outcome = outcomeOf(method, params as unknown[] | object | undefined);
  if (outcome !== -32601) found.calls++;
  return id === undefined ? undefined : [id, outcome];
}

function outcomeOf(method: string, params: unknown[] | object | undefined): unknown {
  const args: unknown[] = params === undefined ? [] : Array.isArray(params) ? params : [params];
  switch (method) {
    case "echo":
      return { result: args };
    case "later":
      return { result: "later" };
    case "fail":
      return 1001;
    case "boom":
      return -32603;
    case "math/count":
      return { result: args.length };
    default:
      return -32601;
  }
}

function depthOf(value: unknown): number {
  let depth = 0;
  let level = [value].filter((each) => typeof each === "object" && each !== null);
  for (; level.length > 0; depth++) {
    level = level
      .flatMap((each) => Object.values(each as object))
      .filter((each) => typeof each === "object" && each !== null);
  }
  return depth;
}

type Member = readonly [name: string, value: string];

/** The members of each message in valid JSON, in order and with their values as written. */
export function membersOf(text: string): Member[][] {
  const messages: Member[][] = [];
  const base = text.trimStart().startsWith("[") ? 1 : 0;
  let depth = 0;
  let name: string | undefined;
  let start = 0;
  const end = (at: number): void => {
    if (name !== undefined) messages.at(-1)?.push([name, text.slice(start, at).trim()]);
    name = undefined;
  };
  let isScalar = true;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/gs)) {
    if (token === "{" || token === "[") {
      if (depth === base && token === "{") messages.push([]);
      else if (depth === base && base === 1) messages.push([]);
      depth++;
      isScalar = false;
    } else if (token === "}" || token === "]") {
      if (depth === base + 1) end(index);
      if (depth === 1 && base === 1 && isScalar && text.slice(start, index).trim() !== "")
        messages.push([]);
      depth--;
    } else if (token === ",") {
      if (depth === base + 1) end(index);
      if (depth === base && base === 1) {
        if (isScalar) messages.push([]);
        isScalar = true;
        start = index + 1;
      }
    } else if (token === ":") {
      if (depth === base + 1) start = index + 1;
    } else if (depth === base + 1 && name === undefined) {
      name = JSON.parse(token) as string;
    }
    if (token === "[" && depth === 1 && base === 1) {
      isScalar = true;
      start = index + 1;
    }
  }
  return messages;
}

export function payload(random: Random): string {
  if (random.oneIn(60)) return arrayText(random, () => jsonText(random));
  if (random.oneIn(400))
    return `[${Array.from({ length: 99 + random.below(4) }, () => message(random)).join(",")}]`;
  if (random.oneIn(5))
    return mutated(
      random,
      arrayText(random, () => message(random)),
      5,
    );
  return mutated(random, message(random));
}

const methods = [
  '"echo"',
  '"math/count"',
  '"later"',
  '"fail"',
  '"boom"',
  '"none"',
  '"rpc.discover"',
  '"__proto__"',
  '"\\u0065cho"',
  '""',
];

export function message(random: Random): string {
  const members = ['"jsonrpc":"2.0"', `"method":${random.pick(methods)}`];
  if (!random.oneIn(4)) members.push(`"params":${paramsText(random)}`);
  if (!random.oneIn(6))
    members.splice(random.oneIn(3) ? 1 : members.length, 0, `"id":${idText(random)}`);
  if (random.oneIn(10))
    members.push(
      random.pick([
        '"x":1',
        '"id":2',
        '"jsonrpc":"1.0"',
        '"traceparent":1',
        '"\\u0069d":3',
        '"__proto__":{}',
        '"method":1',
      ]),
    );
  if (random.oneIn(15)) members.splice(random.below(members.length), 1);
  if (random.oneIn(15)) members.reverse();
  return `{${spaced(random, members)}}`;
}

function paramsText(random: Random): string {
  switch (random.below(5)) {
    case 0:
      return `[${random.below(100)},${random.below(1000)}]`;
    case 1:
      return arrayText(random, () => jsonText(random));
    case 2:
    case 3:
      return objectText(random, () => [stringText(random), jsonText(random)]);
    default:
      return jsonText(random);
  }
}

function idText(random: Random): string {
  return random.oneIn(3) ? jsonText(random, 1) : `${random.below(1000)}`;
}
