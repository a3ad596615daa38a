/** Texts that are, or nearly are, what most clients write. */
import fc from "fast-check";

const awkwardNames = [
  "",
  "echo",
  "math/add",
  'a,"id":5}',
  '","params":[1],"id":2}',
  "a\\",
  '\\"',
  "\\u0065cho",
  "a\nb",
  "\u007f\u2028\ud800",
  "größe",
];

const awkwardValues = [
  "",
  " ",
  "null",
  "true",
  "0",
  "-0",
  '"x"',
  "[]",
  "{}",
  "[1]",
  "[1,2]",
  "[ 1,2]",
  "[1 ,2]",
  "[1,2] ",
  "[01]",
  "[00]",
  "[0]",
  "[-1]",
  "[-0]",
  "[+1]",
  "[1e5]",
  "[1.5]",
  "[1.]",
  "[.1]",
  "[,]",
  "[1,]",
  "[,1]",
  "[1,,2]",
  "[1]]",
  "[[1]",
  "[1][2]",
  "[1]x",
  "[999999999999999]",
  "[1000000000000000]",
  "[9007199254740993]",
  "[12345678901234567890,1]",
  `[${Array.from({ length: 40 }, (_, i) => i).join(",")}]`,
  '[",\\"id\\":5}"]',
  '["],\\"id\\":5},{"]',
  '{"a":1,"id":5}',
  '{"id":5}',
  '[{"a":"b","id":7}]',
  '[1],"id":3',
  '[1],"params":[2]',
  '[1],"method":"other"',
  '{"a":[1]}',
  '{"a":[1]},"params":{"a":[2]}',
  '{"a":{"b":1}},"x":{"c":{}}',
  '[[1]],"id":[[2]]',
  '{"__proto__":1}',
  '"\\ud800"',
  "[[[[[[[[]]]]]]]]",
  "[1}",
  "{1]",
];

const awkwardIds = [
  "",
  "0",
  "1",
  "00",
  "01",
  "-1",
  "-0",
  "+1",
  "1e5",
  "1.0",
  "1.",
  " 1",
  "1 ",
  '""',
  '"1"',
  "null",
  "true",
  "[]",
  "999999999999999",
  "1000000000000000",
  "9007199254740991",
  "9007199254740993",
  "123456789012345678901234567890",
  '1,"id":2',
  "1}",
];

/** Around the numbers from which doubles begin to skip integers. */
const largeNumber = fc.bigInt({ min: 10n ** 13n, max: 10n ** 18n }).map(String);

const name = fc.oneof(fc.constantFrom(...awkwardNames), fc.string(), fc.string({ unit: "binary" }));
const value = fc.oneof(
  fc.constantFrom(...awkwardValues),
  fc.json({ maxDepth: 2 }),
  fc.array(fc.nat()).map((numbers) => JSON.stringify(numbers)),
  fc.array(largeNumber, { maxLength: 3 }).map((numbers) => `[${numbers.join(",")}]`),
);
const id = fc.oneof(fc.constantFrom(...awkwardIds), fc.nat().map(String), largeNumber);

/** Members in one of the usual orders or in another, mostly without spaces between them. */
function written(members: fc.Arbitrary<readonly string[]>): fc.Arbitrary<string> {
  return fc
    .tuple(members, fc.nat({ max: 9 }), fc.constantFrom("", "", "", "", "", "", "", " ", "  "))
    .map(([list, order, space]) => {
      const spaced = inOrder(list, order).map((member) => member.replace('":', `":${space}`));
      return `{${spaced.join(`,${space}`)}}`;
    });
}

function inOrder(list: readonly string[], order: number): readonly string[] {
  if (order === 0) return list.toReversed();
  if (order > 4) return list;
  // The last member, mostly the id, comes second.
  return [...list.slice(0, 1), ...list.slice(1).slice(-1), ...list.slice(1, -1)];
}

const version = '"jsonrpc":"2.0"';

const request = written(
  fc
    .tuple(name, fc.option(value, { freq: 5 }), fc.option(id, { freq: 8 }))
    .map(([method, params, number]) => [
      version,
      `"method":"${method}"`,
      ...(params === null ? [] : [`"params":${params}`]),
      ...(number === null ? [] : [`"id":${number}`]),
    ]),
);

const plainRequest = written(
  fc
    .tuple(fc.stringMatching(/^[a-z/]{0,8}$/), fc.option(fc.json({ maxDepth: 1 })), fc.nat())
    .map(([method, params, number]) => [
      version,
      `"method":"${method}"`,
      ...(params === null ? [] : [`"params":${params}`]),
      `"id":${number}`,
    ]),
);

const response = written(
  fc
    .tuple(fc.option(value, { freq: 5 }), fc.option(id, { freq: 8 }))
    .map(([result, number]) => [
      version,
      ...(result === null ? [] : [`"result":${result}`]),
      ...(number === null ? [] : [`"id":${number}`]),
    ]),
);

/** Members that belong together and members that do not, some of them twice. */
const jumble = written(
  fc.array(
    fc.oneof(
      fc.constantFrom(version, '"method":"a"', '"error":{}', '"x":1', '"jsonrpc":"1.0"'),
      value.map((content) => `"params":${content}`),
      value.map((content) => `"result":${content}`),
      id.map((number) => `"id":${number}`),
    ),
    { maxLength: 5 },
  ),
);

const part = fc.oneof(
  { weight: 4, arbitrary: plainRequest },
  { weight: 2, arbitrary: request },
  { weight: 1, arbitrary: response },
  { weight: 1, arbitrary: jumble },
);

const batch = fc
  .tuple(fc.array(part, { maxLength: 4 }), fc.constantFrom(",", ",", ",", ", ", ",,", ""))
  .map(([entries, comma]) => `[${entries.join(comma)}]`);

/** Characters with a meaning, and some that must not occur. */
const character = fc.constantFrom(...'{}[]",:\\0123456789-+.eE tfnu/\n\r\t\u0000\u00a0\ufeffé');

type Mutation = (text: string) => string;

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const at = (text: string, where: number) => Math.floor(where * (text.length + 1));

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(fc.nat({ max: 3 }), character).map(([distance, c]): Mutation => {
    // A fast reader looks least at the end of a text.
    return (text) =>
      text.slice(0, -1 - distance) + c + text.slice(text.length - distance, text.length);
  }),
  fc.tuple(place, character).map(([where, c]): Mutation => {
    return (text) => text.slice(0, at(text, where)) + c + text.slice(at(text, where));
  }),
  fc.tuple(place, fc.integer({ min: 1, max: 4 })).map(([where, count]): Mutation => {
    return (text) => text.slice(0, at(text, where)) + text.slice(at(text, where) + count);
  }),
  fc.tuple(place, character).map(([where, c]): Mutation => {
    return (text) => text.slice(0, at(text, where)) + c + text.slice(at(text, where) + 1);
  }),
  fc.tuple(place, place).map(([from, to]): Mutation => {
    // A part occurs twice.
    return (text) => {
      const [start, end] = [at(text, from), at(text, to)].sort((a, b) => a - b);
      return text.slice(0, end) + text.slice(start);
    };
  }),
  place.map(
    (where): Mutation =>
      (text) =>
        text.slice(0, at(text, where)),
  ),
);

function mutated(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(text, fc.oneof(fc.constant([]), fc.array(mutation, { minLength: 1, maxLength: 3 })))
    .map(([original, mutations]) =>
      mutations.reduce((changed, change) => change(changed), original),
    );
}

export const nearMessage: fc.Arbitrary<string> = mutated(part);
export const nearBatch: fc.Arbitrary<string> = mutated(batch);
/** Any of the given texts with some characters changed. */
export function nearAny(texts: readonly string[]): fc.Arbitrary<string> {
  return mutated(fc.constantFrom(...texts));
}
