import { deepStrictEqual } from "node:assert";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { canonicalBatch, canonicalMessage } from "../../src/protocol/canonical.ts";
import { duplicateMember } from "../../src/protocol/envelope.ts";
import { unparsable } from "../../src/protocol/json-text.ts";
import { parsePayload } from "../../src/protocol/payload.ts";
import { isFull } from "../full.ts";
import { nearBatch, nearMessage } from "./near-canonical.ts";

const numRuns = isFull ? 10_000 : 2_000;

/** Readers treat missing and undefined alike; only JSON cannot express the latter. */
function expectSame(read: unknown, text: string): void {
  const parsed: unknown = JSON.parse(text);
  if (!Array.isArray(read)) deepStrictEqual(asWritten(read), unlessDoubled(read, parsed));
  else {
    const entries = (parsed as unknown[]).map((entry, i) => unlessDoubled(read[i], entry));
    deepStrictEqual(read.map(asWritten), entries);
  }
}

/** If a member occurs twice, JSON.parse does not say so; answer.test.ts tests that case. */
function unlessDoubled(read: unknown, parsed: unknown): unknown {
  const { jsonrpc, id } = (read ?? {}) as { jsonrpc?: unknown; id?: unknown };
  return jsonrpc === duplicateMember ? asWritten({ ...(parsed as object), jsonrpc, id }) : parsed;
}

function asWritten(message: unknown): unknown {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return message;
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}

/** How often the fast path was taken; a property that never takes it proves nothing. */
function shareRead(texts: fc.Arbitrary<string>, read: (text: string) => unknown): number {
  let taken = 0;
  fc.assert(
    fc.property(texts, (text) => {
      const message = read(text);
      if (message === undefined) return;
      taken++;
      expectSame(message, text);
    }),
    { numRuns },
  );
  return taken / numRuns;
}

const numbers = ["0", "7", "10", "999999999999999"];
const strings = ['""', '"a"', '"ä🙂"', '"twelve chars"', `"${"x".repeat(80)}"`];
const values = [...numbers, ...strings];
const nested = [
  ...["[]", "{}", "[[]]", "[{}]", "[1,2,3]", '["a","b"]', '{"a":[]}', '{"a":{"b":[{}]}}', "[null]"],
  ...['["a\\"]",1]', '["\\\\"]', '["{"]', '[",",{}]', "[-1.5e3]", '{"a":true}', "[1,2.5]", "[01]"],
];
const paramsTexts = [
  ...numbers.flatMap((one) => [`[${one}]`, `[${one},${one}]`]),
  ...values.flatMap((one) => [`{"a":${one}}`, `{"a":${one},"b":${one}}`]),
  ...[`{"${"k".repeat(64)}":1}`, `{"${"k".repeat(65)}":1}`, '{"":1}', ...nested],
];

/** The forms that clients write, with the values that have a fast path, and others. */
function* usualMessages(): Generator<string> {
  const message = (...members: string[]) => `{"jsonrpc":"2.0",${members.join(",")}}`;
  for (const params of paramsTexts) {
    yield message('"method":"m"', `"params":${params}`, '"id":1');
    yield message('"method":"m"', `"params":${params}`, '"id":"a"', '"types":{}');
    yield message('"method":"m"', `"params":${params}`);
    yield message('"id":1', '"method":"m"', `"params":${params}`);
    yield message(`"result":${params}`, '"id":1');
  }
  for (const value of values) {
    yield message('"method":"m"', `"id":${value}`);
    yield message(`"id":${value}`, '"method":"m"');
    yield message(`"result":${value}`, `"id":${value}`);
    if (value.startsWith('"')) yield message(`"method":${value}`);
  }
}

/** As Python writes it, with a space after each colon and comma. */
const gapped = (text: string) =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"|[:,]/g, (part) => (part.length === 1 ? `${part} ` : part));

test("each usual form is read the short way, alone and in a batch", () => {
  for (const text of [...usualMessages()].flatMap((each) => [each, gapped(each)])) {
    const read = canonicalMessage(text);
    if (text.includes("[01]")) {
      expect(read).toBeUndefined();
      continue;
    }
    expectSame(read, text);
    for (const rest of [" ", "x", "}", "]", ","]) {
      expect(canonicalMessage(text + rest)).toBeUndefined();
      expect(canonicalBatch(`[${text}]${rest}`, 1)).toBeUndefined();
    }
    expectSame(canonicalBatch(`[${text}]`, 1), `[${text}]`);
    const pair = gapped(text) === text ? `[${text}, ${text}]` : `[${text},${text}]`;
    const batch = canonicalBatch(pair, 2);
    if (batch !== undefined) expectSame(batch, pair);
  }
});

test.each([
  '{"jsonrpc":"2.0","method":"m","params":{"a":[1]},"id":1}',
  '{"jsonrpc":"2.0","id":"a","method":"m","params":[12,3]}',
  '{"jsonrpc": "2.0", "result": "a", "id": 12}',
  '{"jsonrpc":"2.0","method":"m","params":{"a":"b","c":1},"types":{}}',
])("with one character changed, %s is something else", (text) => {
  for (let at = 0; at < text.length; at++) {
    for (const other of ["", "x", '"', "0", ":", ",", "}", "]", " ", "\\", "\n"]) {
      const changed = text.slice(0, at) + other + text.slice(at + 1);
      const read = canonicalMessage(changed);
      if (read !== undefined) expectSame(read, changed);
    }
  }
});

test("a message read the short way is what JSON.parse makes of it", () => {
  expect(shareRead(nearMessage, canonicalMessage)).toBeGreaterThan(0.1);
});

test("a long message read from both sides is what JSON.parse makes of it", () => {
  const heads = [
    '{"jsonrpc":"2.0","method":"m","params":',
    '{"jsonrpc":"2.0","id":1,"method":"m","params":',
  ];
  const tails = ["}", ',"id":7}', ',"id":"a"}', ',"id":1.5}', ',"id":7} ', ',"x":1,"id":7}', "]}"];
  const doubling = [',"params":[],"id":7}', ',"id":1,"id":7}', ',"method":"n","id":7}'];
  const hostile = ['"],"id":5,"x":["', '{"id":7}', '",\\"id\\":7}"', '"a"],"params":["b"', ""];
  const values = fc.oneof(fc.json(), fc.constantFrom(...hostile));
  const padding = "x".repeat(520);
  const texts = (ends: string[]) =>
    fc
      .tuple(fc.constantFrom(...heads), values, fc.constantFrom(...ends))
      .map(([head, value, end]) => `${head}["${padding}",${value}]${end}`);
  expect(shareRead(texts(tails), canonicalMessage)).toBeGreaterThan(0.1);
  expect(shareRead(texts(doubling), canonicalMessage)).toBe(0);
});

test("a batch read the short way is what JSON.parse makes of it", () => {
  const share = shareRead(
    nearBatch.filter((text) => text.startsWith("[")),
    (text) => canonicalBatch(text, 100),
  );
  expect(share).toBeGreaterThan(0.05);
});

test("a payload is what JSON.parse makes of it, or unparsable where that throws", () => {
  let parsed = 0;
  fc.assert(
    fc.property(fc.oneof(nearMessage, nearBatch, fc.json(), fc.string()), (text) => {
      const payload = parsePayload(text, 100);
      if (payload === unparsable) expect(() => JSON.parse(text)).toThrow(SyntaxError);
      else {
        parsed++;
        expectSame(payload, text);
      }
    }),
    { numRuns },
  );
  expect(parsed / numRuns).toBeGreaterThan(0.2);
  expect(parsed / numRuns).toBeLessThan(0.9);
});

/** Method names that JSON.stringify writes without escapes. */
const name = fc.string({ unit: "grapheme" }).filter((text) => JSON.stringify(text) === `"${text}"`);
const id = fc.integer({ min: 0, max: 999_999_999_999_999 });
const small = { maxDepth: 2, depthSize: "small" } as const;
const params = fc.oneof(
  fc.array(fc.jsonValue(small), { maxLength: 3 }),
  fc.array(fc.nat(), { maxLength: 20 }),
  fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue(small), { maxKeys: 3 }),
);
/** Long messages gain nothing from the fast path. */
const isShort = (message: unknown) => JSON.stringify(message).length <= 400;
const request = fc
  .oneof(
    fc.record({ jsonrpc: fc.constant("2.0"), method: name, params, id }, { noNullPrototype: true }),
    fc.record({ jsonrpc: fc.constant("2.0"), method: name, id }, { noNullPrototype: true }),
  )
  .filter(isShort);

test("a request in the usual form is read the short way", () => {
  fc.assert(
    fc.property(request, (message) => {
      const text = JSON.stringify(message);
      expectSame(canonicalMessage(text), text);
    }),
    { numRuns: isFull ? 2_000 : 500 },
  );
});

test("a response in the usual form is read the short way", () => {
  fc.assert(
    fc.property(fc.json(small).filter(isShort), id, (result, number) => {
      const text = `{"jsonrpc":"2.0","result":${result},"id":${number}}`;
      expectSame(canonicalMessage(text), text);
    }),
  );
});

test("a batch of requests in the usual form is read the short way", () => {
  // A member "id" within the params ends the fast path.
  const plain = request.filter((message) => JSON.stringify(message).split(',"id":').length === 2);
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1, maxLength: 10 }), (messages) => {
      const text = JSON.stringify(messages);
      expectSame(canonicalBatch(text, 100), text);
    }),
  );
});

/** As Python's `json.dumps` writes it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, each]) => `${JSON.stringify(key)}: ${spaced(each)}`,
  );
  return `{${members.join(", ")}}`;
}

test("requests with spaces as Python writes them are read the short way", () => {
  fc.assert(
    fc.property(request, request, (one, other) => {
      expectSame(canonicalMessage(spaced(one)), spaced(one));
      const text = spaced([one, other]);
      if (text.length <= 512) expectSame(canonicalBatch(text, 100), text);
    }),
    { numRuns: isFull ? 2_000 : 500 },
  );
});

test("params that look like the rest of a batch are what JSON.parse makes of them", () => {
  const parts = [
    '{"a":1}',
    '"},{\\"jsonrpc\\""',
    '{"jsonrpc":"2.0","method":"a"}',
    '["],"]',
    '{"id":7}',
  ];
  const ends = [',"id":7}', "}", ',"id":"a"}', ',"id":7,"types":{}}', ',"timeoutMs":5,"id":7}'];
  const value = fc.array(fc.oneof(fc.constantFrom(...parts), fc.json()), { maxLength: 4 });
  const entry = fc
    .tuple(value, fc.constantFrom(...ends))
    .map(([values, end]) => `{"jsonrpc":"2.0","method":"m","params":[${values.join(",")}]${end}`);
  const texts = fc.array(entry, { minLength: 1, maxLength: 4 }).map((all) => `[${all.join(",")}]`);
  expect(shareRead(texts, (text) => canonicalBatch(text, 100))).toBeGreaterThan(0.1);
});

test("an empty batch is left to JSON.parse", () => {
  expect(canonicalBatch("[]", 100)).toBeUndefined();
});

test.each([
  ['"method":"abcdefgh"', '"method":"a\\u0062gh"', ',"params":[1],"id":1}'],
  ['"method":"m","id":"ab"', '"method":"m","id":"\\n"', "}"],
  ['"id":"ab"', '"id":"\\n"', ',"method":"m"}'],
  ['"id":1,"method":"ab"', '"id":1,"method":"\\n"', ',"params":[1]}'],
])("nothing remains of a message with %s that was not read to its end", (read, unusual, rest) => {
  const text = `{"jsonrpc":"2.0",${unusual}${rest}`;
  expect(() => JSON.parse(text)).not.toThrow();
  expect(canonicalMessage(`{"jsonrpc":"2.0",${read}!`)).toBeUndefined();
  expect(canonicalMessage(text)).toBeUndefined();
});

describe("a method that is repeated", () => {
  const idLast = (method: string, params: string) =>
    `{"jsonrpc":"2.0","method":"${method}","params":${params},"id":7}`;
  const idFirst = (method: string, params: string) =>
    `{"jsonrpc":"2.0","id":7,"method":"${method}","params":${params}}`;
  const withoutId = (method: string, params: string) =>
    `{"jsonrpc":"2.0","method":"${method}","params":${params}}`;

  test.each([
    ["the id last", idLast],
    ["the id first", idFirst],
    ["no id", withoutId],
  ])("is read as before with %s, and so are others", (_, write) => {
    for (const form of [(text: string) => text, gapped]) {
      const written = (method: string, params: string) => form(write(method, params));
      for (let i = 0; i < 20; i++) canonicalMessage(written("repeated", `[${i}]`));
      for (const method of [
        "repeated",
        "repeatex",
        "repeat",
        "repeated2",
        "größere",
        "__proto__",
      ]) {
        for (const params of ["[1]", '{"a":1}', '{"a":{"b":[1]}}', '[",\\"params\\":"]', "{}"]) {
          const text = written(method, params);
          const read = canonicalMessage(text);
          expect(read).toMatchObject({ method });
          expectSame(read, text);
          expectSame(canonicalBatch(`[${text}]`, 1), `[${text}]`);
        }
      }
      for (const params of ["[01]", "[1", "", "[1]}"])
        expect(canonicalMessage(written("repeated", params))).toBeUndefined();
      for (const unusual of ["repe\\u0061ted", 'repeated","method":"x'])
        expect(canonicalMessage(written(unusual, "[1]"))).toBeUndefined();
    }
  });

  test.each([idLast, idFirst])("is not read again, character by character", (write) => {
    const text = write("compared", "[1]");
    for (let i = 0; i < 20; i++) canonicalMessage(text);
    const looked = vi.spyOn(String.prototype, "charCodeAt");
    canonicalMessage(text);
    const positions = looked.mock.calls.map(([at]) => at);
    looked.mockRestore();
    expect(positions).not.toContain(text.indexOf("compared"));
  });
});

/** How often JSON.parse is called to read a text. */
function parses(read: () => unknown): number {
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  parse.mockClear();
  expect(read()).not.toBeUndefined();
  return parse.mock.calls.length;
}

test.each([
  [0, "[0]"],
  [0, "[10,999999999999999]"],
  [0, '{"a":1}'],
  [0, '{"a":"b","c":10,"d":"twelve chars"}'],
  [0, `{"${"k".repeat(64)}":1}`],
  [1, `{"${"k".repeat(65)}":1}`],
  [1, '{"a":"thirteen more"}'],
  [1, '{"a":1,"b":"thirteen more"}'],
  [1, "[1,2,3]"],
  [1, '["a"]'],
  [1, "{}"],
])("JSON.parse is called %i times for the params %s", (times, params) => {
  for (const form of [(text: string) => text, gapped]) {
    const compact = [
      `{"jsonrpc":"2.0","method":"m","params":${params},"id":1}`,
      `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`,
    ];
    for (const text of compact.map(form)) {
      expect(parses(() => canonicalMessage(text))).toBe(times);
      expect(parses(() => canonicalBatch(`[${text}]`, 1))).toBe(times);
    }
  }
});

test("a batch beyond the limit is not read to its end", () => {
  const entry = '{"jsonrpc":"2.0","method":"a","id":1}';
  const batchOf = (length: number) => `[${Array(length).fill(entry).join(",")}]`;
  expect(canonicalBatch(batchOf(3), 3)).toHaveLength(3);
  expect(canonicalBatch(batchOf(4), 3)).toHaveLength(4);
  expect(canonicalBatch(batchOf(5), 3)).toBeUndefined();
});

test.each([
  '{"a":1,"b":23}',
  '{"name":"ada","age":36}',
  '{"a":1,"a":2}',
  '{"2":1,"1":2,"b":3}',
  '{"":""}',
  '{"__proto__":1}',
  '{"a":{"__proto__":1}}',
  '{"constructor":1,"toString":"a"}',
  '{"a":"longer than twelve characters"}',
  '{"a":01}',
  '{"a":-1}',
  '{"a":1.5,"b":1e3}',
  '{"a":"\\u0041"}',
  '{"a":"ä🙂"}',
  '{"a":1,}',
  '{"a":1',
  '{"a" :1}',
  '{"a":null}',
  "{}",
])("params %s are what JSON.parse makes of them", (params) => {
  const compact = `{"jsonrpc":"2.0","method":"m","params":${params},"id":1}`;
  const partly = `{"jsonrpc": "2.0", "method": "m", "params": ${params}, "id": 1}`;
  for (const text of [compact, compact.replaceAll(/[:,]/g, "$& "), partly]) {
    const read = canonicalMessage(text);
    if (read !== undefined) expectSame(read, text);
    expect(canonicalBatch(`[${text}]`, 1)).toEqual(read === undefined ? undefined : [read]);
  }
});
