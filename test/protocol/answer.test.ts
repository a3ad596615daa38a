import { createServer, Host, Origin, RpcError, silentLog, success } from "callwire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ProfileName, profileNames, serverOf } from "../conformance/profiles.ts";
import { transcripts } from "../conformance/transcript.ts";
import { isFull } from "../full.ts";
import { nearAny, nearBatch, nearMessage } from "./near-canonical.ts";

const numRuns = isFull ? 2_000 : 500;
/** Fewer than in other files, so that the whole folder takes seconds. */
const fewerRuns = 800;

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isErrorObject(value: unknown): boolean {
  return (
    isObject(value) &&
    Number.isInteger(value["code"]) &&
    typeof value["message"] === "string" &&
    Object.keys(value).every((key) => ["code", "message", "data"].includes(key))
  );
}

function isResponse(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { types, ...reply } = value;
  // Types come last, and only if some value has one.
  if ("types" in value && !(isObject(types) && Object.keys(types).length > 0)) return false;
  const keys = Object.keys(reply).join();
  if (keys === "jsonrpc,result,id") return value["jsonrpc"] === "2.0" && isId(value["id"]);
  if (keys === "jsonrpc,error,id") {
    return value["jsonrpc"] === "2.0" && isErrorObject(value["error"]) && isId(value["id"]);
  }
  if (keys !== "result,error,id" || typeof value["id"] === "object") return false;
  return value["error"] === null || (value["result"] === null && isErrorObject(value["error"]));
}

function isId(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "number";
}

function isAnswer(text: string | undefined): boolean {
  if (text === undefined) return true;
  const answer: unknown = JSON.parse(text);
  return Array.isArray(answer) ? answer.length > 0 && answer.every(isResponse) : isResponse(answer);
}

const sentTexts = transcripts.flatMap(({ exchanges }) =>
  exchanges.flatMap(({ turns }) =>
    turns.map(({ sent }) => sent).filter((text) => text.length < 2_000),
  ),
);

describe.each(profileNames)("whatever comes in, the server of profile %s", (profile) => {
  const server = serverOf(profile);

  test("answers any string with responses or not at all", async () => {
    const text = fc.oneof(nearAny(sentTexts), nearMessage, nearBatch, fc.string(), fc.json());
    await fc.assert(
      fc.asyncProperty(text, async (sent) => {
        expect(isAnswer(await server.receive(sent))).toBe(true);
      }),
      { numRuns: fewerRuns },
    );
  });
});

const absent = Symbol("absent");

/** A value for a member, or none; mostly a valid one. */
function member(right: readonly unknown[], wrong: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...right) },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
  );
}

const anyMember = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constant(absent));

const entry = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        jsonrpc: member(["2.0", "2.0", absent], ["1.0", 2, null]),
        method: member(
          [
            "echo",
            "echo_later",
            "fail",
            "fail_later",
            "missing",
            "bigint",
            "subtract",
            "__proto__",
          ],
          [absent, null, 1, ["echo"]],
        ),
        params: fc.oneof(member([absent, [], [1, "x"], { a: 1 }], [null, 0, "", true]), anyMember),
        id: fc.oneof(member([absent, null, 0, 1, -1.5, "", "a"], [true, false, [], {}]), anyMember),
        extra: anyMember,
      })
      .map((members) =>
        Object.fromEntries(Object.entries(members).filter(([, value]) => value !== absent)),
      ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

/** Minus zero is written as zero. */
function positiveZero(id: unknown): unknown {
  return id === 0 ? 0 : id;
}

/** The id that must come back, or `absent` if no answer may come. Written from the design, not the code. */
function expectedId(message: unknown, profile: ProfileName): unknown {
  if (!isObject(message)) return null;
  const { jsonrpc, method, params, id } = message;
  const idKnown = typeof id === "string" ? id.length <= 256 : typeof id === "number";
  const structured = typeof params === "object" && params !== null;
  if (
    profile !== "version-1" &&
    jsonrpc === "2.0" &&
    typeof method === "string" &&
    (!("params" in message) || structured) &&
    (!("id" in message) || isId(id))
  ) {
    return "id" in message ? id : absent;
  }
  const version1 =
    profile !== "default" &&
    !("jsonrpc" in message) &&
    typeof method === "string" &&
    Array.isArray(params) &&
    "id" in message &&
    (id === null || typeof id !== "object");
  if (version1) return id === null ? absent : id;
  return idKnown ? id : null;
}

describe.each(["default", "both-versions", "version-1"] as const)("with profile %s", (profile) => {
  const server = serverOf(profile);

  test("a message is answered exactly when it needs an answer, under its own id", async () => {
    await fc.assert(
      fc.asyncProperty(entry, async (message) => {
        fc.pre(!Array.isArray(message));
        const text = await server.receive(JSON.stringify(message));
        const id = expectedId(message, profile);
        if (id === absent) expect(text).toBeUndefined();
        else expect(JSON.parse(text as string).id).toEqual(positiveZero(id));
        expect(isAnswer(text)).toBe(true);
      }),
      { numRuns },
    );
  });

  test("a batch answers exactly the entries that need it, each under its own id", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 8 }), async (messages) => {
        const text = await server.receive(JSON.stringify(messages));
        const ids = messages.map((message) => expectedId(message, profile));
        const due = ids.filter((id) => id !== absent);
        if (due.length === 0) expect(text).toBeUndefined();
        else {
          const replies = JSON.parse(text as string) as { id: unknown }[];
          expect(replies.map(({ id }) => id)).toEqual(due.map(positiveZero));
        }
        expect(isAnswer(text)).toBe(true);
      }),
      { numRuns },
    );
  });
});

test("an answer never holds the text of an exception", async () => {
  const server = serverOf("default");
  const failing = fc.constantFrom(
    ...["fail", "fail_later", "throw_string", "to_json_throws", "refuse", "wrong_result"],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(failing, { minLength: 1 }), async (methods) => {
      const batch = methods.map((method, id) => ({ jsonrpc: "2.0", method, id }));
      const text = (await server.receive(JSON.stringify(batch))) as string;
      expect(text).not.toContain("secret");
      expect(text.match(/"error":/g)).toHaveLength(methods.length);
    }),
  );
});

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const numberAsWritten = fc
  .stringMatching(/^-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)
  .filter((text) => !Number.isSafeInteger(Number(text)));
const spacedOut = fc
  .tuple(
    fc.shuffledSubarray(["jsonrpc", "method", "params", "id", "extra"], { minLength: 5 }),
    numberAsWritten,
    fc.json(),
    fc.array(space, { minLength: 20, maxLength: 20 }),
    fc.constantFrom('"id"', '"\\u0069d"', '"i\\u0064"'),
  )
  .map(([order, id, extra, spaces, idKey]) => {
    const written: Record<string, string> = {
      jsonrpc: '"jsonrpc":"2.0"',
      method: '"method":"echo"',
      params: '"params":["},\\"id\\":1,{"]',
      extra: `"extra":${extra}`,
    };
    let next = 0;
    const gap = () => spaces[next++ % spaces.length];
    const members = order.map((key) =>
      key === "id"
        ? `${gap()}${idKey}${gap()}:${gap()}${id}${gap()}`
        : `${gap()}${written[key]}${gap()}`,
    );
    return { id, text: `${gap()}{${members.join(",")}}${gap()}` };
  });

test("a number that a double cannot hold is returned as written, at any place", () => {
  const server = serverOf("default");
  const replyOf = (id: string) => `{"jsonrpc":"2.0","result":"},\\"id\\":1,{","id":${id}}`;
  fc.assert(
    fc.property(fc.array(spacedOut, { minLength: 1, maxLength: 4 }), space, (calls, gap) => {
      const [first = { text: "", id: "" }] = calls;
      expect(server.receive(first.text)).toBe(replyOf(first.id));
      const batch = `${gap}[${calls.map(({ text }) => text).join(",")}]${gap}`;
      expect(server.receive(batch)).toBe(`[${calls.map(({ id }) => replyOf(id)).join(",")}]`);
    }),
    { numRuns },
  );
});

test("a profile may refuse null ids, params by position and batches", () => {
  const profile = { nullIds: false, positionalParams: false, batches: () => false };
  const answered = new Host(() => success(1), { profile: { ...profile, notifications: false } });
  expect(answered.receive('{"jsonrpc":"2.0","method":"m"}')).toContain(
    'the member \\"id\\" is missing',
  );
  const strict = new Host(({ params }) => success(params ?? null), { profile });
  const loose = new Host(({ params }) => success(params ?? null), {
    profile: { nullIds: true, positionalParams: true, batches: () => true },
  });
  const call = (members: string) => `{"jsonrpc":"2.0","method":"m",${members}}`;
  const wrong = (data: string) =>
    `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":"${data}"}`;
  const noBatches = "batches are not accepted here; send one message per payload";
  for (const [text, refusal, result] of [
    [call('"params":{"a":1},"id":1'), undefined, '"result":{"a":1},"id":1'],
    [call('"id":1'), undefined, '"result":null,"id":1'],
    [
      call('"params":[1],"id":1'),
      `${wrong('the member \\"params\\" must be an object')},"id":1}`,
      '"result":[1],"id":1',
    ],
    [call('"id":null'), `${wrong('the member \\"id\\" must not be null')}}`, '"id":null'],
    [`[${call('"id":1')}]`, `${wrong(noBatches)}}`, '[{"jsonrpc"'],
  ] as const) {
    expect(strict.receive(text)).toBe(refusal ?? `{"jsonrpc":"2.0",${result}}`);
    expect(loose.receive(text)).toContain(result);
  }
  // There is no id to put into the reply.
  expect(strict.receive("{")).toBe(
    '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}',
  );
  expect(loose.receive("{")).toContain('"id":null');
});

test("an origin knows the last error, from which wires take a status", async () => {
  const busy = new RpcError(5, "busy", undefined, { status: 503 });
  const server = createServer({
    ok: () => 1,
    fail: () => Promise.reject(busy),
    other: () => Promise.reject(new RpcError(6, "other", undefined, { status: 503 })),
  });
  const call = (method: unknown) => `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"id":1}`;
  const notification = '{"jsonrpc":"2.0","method":"fail"}';
  const lastOf = async (text: string) => {
    const origin = new Origin();
    await server.receive(text, origin);
    return origin.lastError?.code;
  };
  expect(await lastOf(call("ok"))).toBeUndefined();
  expect(await lastOf(call("fail"))).toBe(5);
  expect(await lastOf(call("missing"))).toBe(-32601);
  expect(await lastOf(call(7))).toBe(-32600);
  expect(await lastOf(`[${call("fail")},${call("fail")}]`)).toBe(5);
  expect(await lastOf(`[${call("fail")},${call("other")}]`)).toBeUndefined();
  expect(await lastOf(`[${call("fail")},${call("ok")}]`)).toBeUndefined();
  expect(await lastOf(`[${call("fail")},${notification}]`)).toBe(5);
});

test("rich data of an error that cannot be converted is sent as JSON, and logged", () => {
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void lines.push(line) };
  const data = { at: new Date(0), file: new Blob(["x"]) };
  const fail = (): never => {
    throw new RpcError(7, "no", data);
  };
  const server = createServer({ fail }, { log });
  const text = '{"jsonrpc":"2.0","method":"fail","id":1,"types":{}}';
  expect(JSON.parse(server.receive(text) as string)).toEqual({
    jsonrpc: "2.0",
    error: { code: 7, message: "no", data: { at: "1970-01-01T00:00:00.000Z", file: {} } },
    id: 1,
  });
  const message = "could not convert the rich values in the data of an error";
  expect(lines).toEqual([[{ err: expect.any(TypeError) }, message]]);
});

test("a result that contains itself is an error, also for a caller that accepts rich values", () => {
  const circle = { self: {} };
  circle.self = circle;
  const server = createServer({ circle: () => circle }, { log: silentLog });
  for (const members of ["", ',"types":{}']) {
    const text = `{"jsonrpc":"2.0","method":"circle","id":1${members}}`;
    expect(server.receive(text)).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}',
    );
  }
});

describe("a member that stands twice", () => {
  const twice = (id: string) =>
    `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request","data":"a member occurs twice"},"id":${id}}`;

  test.each([
    ['{"jsonrpc":"2.0","method":"missing","method":"echo","params":["b"],"id":2.5}', "2.5"],
    ['{"jsonrpc":"2.0","method":"echo","params":["a"],"params":["b"],"id":1}', "1"],
    ['{"jsonrpc":"2.0","method":"echo","m\\u0065thod":"echo","params":["a"],"id":1}', "1"],
    ['{"jsonrpc":"2.0","jsonrpc":"2.0","method":"echo","params":["a"],"id":"x"}', '"x"'],
    ['{"jsonrpc":"2.0","method":"echo","params":["a"],"id":1,"id":2}', "null"],
    ['{"extra":1,"jsonrpc":"2.0","method":"echo","params":["a"],"id":1,"extra":1}', "1"],
    ['{"jsonrpc":"2.0","id":1,"method":"echo","params":["a"],"id":1,"method":"echo"}', "null"],
  ])("refuses %s", (text, id) => {
    expect(serverOf("default").receive(text)).toBe(twice(id));
    expect(serverOf("default").receive(` ${text}`)).toBe(twice(id));
    const fine = '{"jsonrpc":"2.0","method":"echo","params":["\\"id\\""],"id":7}';
    expect(serverOf("default").receive(`[${fine}, ${text} ,${fine}]`)).toBe(
      `[{"jsonrpc":"2.0","result":"\\"id\\"","id":7},${twice(id)},{"jsonrpc":"2.0","result":"\\"id\\"","id":7}]`,
    );
  });

  test("is allowed in params, which belong to the method", () => {
    const text = '{"jsonrpc":"2.0", "method":"echo","params":[{"id":1,"id":2,"method":3}],"id":1}';
    expect(serverOf("default").receive(text)).toBe(
      '{"jsonrpc":"2.0","result":{"id":2,"method":3},"id":1}',
    );
  });

  test("makes a request of 1.0 invalid, too", () => {
    const server = createServer({ echo: (value: unknown) => value }, { versions: ["1.0", "2.0"] });
    const text = '{"method":"echo","method":"echo","params":["a"],"id":1}';
    expect(server.receive(text)).toBe(twice("1"));
  });
});
