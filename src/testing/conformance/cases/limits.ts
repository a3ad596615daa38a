import type { ConformanceCase, ConformanceExchange, Expectation, Text } from "../case.ts";
import { hygiene, refusal, settled, unaccepted, writerOf } from "../case-builders.ts";

const write = writerOf("limits");

const survives = hygiene(
  "A message that is hard to process is answered or refused. It neither ends the server nor leaves its caller waiting.",
);
const bounded = hygiene(
  "Any client can make a server that accepts messages of any size run out of memory.",
);

function large(text: Text, expect: Expectation = settled): ConformanceExchange {
  return { send: { kind: "message", text }, expect, slow: true };
}

function nested(times: number): Text {
  return [
    '{"jsonrpc":"2.0","method":"conformance.absent","params":[',
    { repeat: "[", times },
    { repeat: "]", times },
    '],"id":1}',
  ];
}

export const limitCases: readonly ConformanceCase[] = [
  write("deep", "A deeply nested message is answered or refused", survives, [
    large(nested(1_000)),
    large(nested(50_000)),
  ]),
  write("deep-unclosed", "A hundred thousand brackets that never close are refused", survives, [
    large([{ repeat: "[", times: 100_000 }], refusal),
  ]),
  write("long-name", "A method name of 100 kB is answered or refused", survives, [
    large(['{"jsonrpc":"2.0","method":"', { repeat: "x", times: 100_000 }, '","id":1}'], refusal),
  ]),
  write("long-id", "An id of 100 kB is answered or refused", survives, [
    large([
      '{"jsonrpc":"2.0","method":"conformance.absent","id":"',
      { repeat: "x", times: 100_000 },
      '"}',
    ]),
  ]),
  write("many-digits", "A number of 20,000 digits is answered or refused", survives, [
    large([
      '{"jsonrpc":"2.0","method":"conformance.absent","params":[',
      { repeat: "9", times: 20_000 },
      '],"id":1}',
    ]),
  ]),
  write("large-batch", "A batch of a thousand calls is answered or refused", survives, [
    large([
      "[",
      { repeat: '{"jsonrpc":"2.0","method":"conformance.absent","id":1},', times: 999 },
      '{"jsonrpc":"2.0","method":"conformance.absent","id":1}]',
    ]),
  ]),
  write(
    "large-batch-refused",
    "A batch of twenty thousand calls is refused as a whole",
    {
      ...bounded,
      says: "A batch multiplies the work of one message; without a limit on its entries a small message makes a large reply.",
    },
    [
      large(
        [
          "[",
          { repeat: '{"jsonrpc":"2.0","method":"x","id":1},', times: 19_999 },
          '{"jsonrpc":"2.0","method":"x","id":1}]',
        ],
        refusal,
      ),
    ],
  ),
  write("oversize", "A message of 16 MiB is refused", bounded, [
    large(
      [
        '{"jsonrpc":"2.0","method":"conformance.absent","params":["',
        { repeat: "x", times: 16 * 1024 * 1024 },
        '"],"id":1}',
      ],
      unaccepted,
    ),
  ]),
];
