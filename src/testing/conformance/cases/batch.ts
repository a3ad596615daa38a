import type { ConformanceCase } from "../case.ts";
import {
  ask,
  batch,
  error,
  failing,
  invalidRequest,
  must,
  notFound,
  nothing,
  parseError,
  request,
  resulting,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("batch");

const whole = must(
  "JSON-RPC 2.0, 6",
  "A batch that is not JSON, or an array without values, is answered with a single Response object.",
);
const each = must(
  "JSON-RPC 2.0, 6 and 7",
  "A batch is answered with an array that holds a response to each request in it. The specification says SHOULD; its examples leave no choice, and callers depend on it.",
);
const apart = must(
  "JSON-RPC 2.0, 6 and 7",
  "An entry that is not a request gets its own error with the id null, and does not affect the others.",
);
const silent = must(
  "JSON-RPC 2.0, 4.1 and 6",
  "Notifications are not answered, in a batch either. Where there is nothing to answer, no empty array is sent.",
);

const invalid = failing(invalidRequest, "null");

function entries(...texts: readonly string[]): string {
  return `[${texts.join(",")}]`;
}

export const batchCases: readonly ConformanceCase[] = [
  write("empty", "An empty array is one invalid request", whole, [
    ask("[]", error(invalidRequest, "null")),
  ]),
  write("parse-error", "A batch that is not JSON is one parse error", whole, [
    ask(`[${request({ id: 1 })},{"jsonrpc":"2.0","method"]`, error(parseError, "null")),
  ]),
  write("one-call", "A batch of one call is answered with an array of one", each, [
    ask(entries(request({ id: 1 })), batch(failing(notFound, "1"))),
  ]),
  write("calls", "Each call of a batch is answered", each, [
    ask(
      entries(request({ id: 1 }), request({ id: "two" }), request({ id: 3 })),
      batch(failing(notFound, "1"), failing(notFound, '"two"'), failing(notFound, "3")),
    ),
  ]),
  write("falsy-ids", "Calls with the ids 0, null and the empty string are answered", each, [
    ask(
      entries(request({ id: 0 }), request({ id: "" }), request({ id: null })),
      batch(failing(notFound, "0"), failing(notFound, '""'), failing(notFound, "null")),
    ),
  ]),
  write("same-id", "Two calls with the same id are both answered", each, [
    ask(
      entries(request({ id: 1 }), request({ id: 1 })),
      batch(failing(notFound, "1"), failing(notFound, "1")),
    ),
  ]),
  write("like-ids", 'The ids 1 and "1" stay apart', each, [
    ask(
      entries(request({ id: 1 }), request({ id: "1" })),
      batch(failing(notFound, "1"), failing(notFound, '"1"')),
    ),
  ]),
  write("big-id", "Digits that a double cannot hold come back unchanged", each, [
    ask(
      '[{"jsonrpc":"2.0","method":"conformance.absent","id":9007199254740993}]',
      batch(failing(notFound, "9007199254740993")),
    ),
  ]),
  write("results", "Each result has the id of its call", each, [
    ask(
      entries(
        request({ method: "<add>", params: [1, 2], id: "a" }),
        request({ method: "<add>", params: [3, 4], id: "b" }),
        request({ id: "c" }),
      ),
      batch(resulting("3", '"a"'), resulting("7", '"b"'), failing(notFound, '"c"')),
    ),
  ]),
  write("number", "A number in a batch is an invalid request", apart, [
    ask("[1]", batch(invalid)),
    ask("[1,2,3]", batch(invalid, invalid, invalid)),
  ]),
  write("null", "Null in a batch is an invalid request", apart, [ask("[null]", batch(invalid))]),
  write("string", "A string in a batch is an invalid request", apart, [
    ask('["conformance.absent"]', batch(invalid)),
  ]),
  write("empty-object", "An empty object in a batch is an invalid request", apart, [
    ask("[{}]", batch(invalid)),
  ]),
  write("empty-array", "An empty array in a batch is an invalid request", apart, [
    ask("[[]]", batch(invalid)),
  ]),
  write("nested", "A batch in a batch is an invalid request", apart, [
    ask(entries(entries(request({ id: 1 }))), batch(invalid)),
  ]),
  write("mixed", "A wrong entry does not affect the others", apart, [
    ask(
      entries(request({ id: 1 }), '{"foo":"boo"}', "null", request({ id: 2 })),
      batch(failing(notFound, "1"), invalid, invalid, failing(notFound, "2")),
    ),
  ]),
  write("notifications", "A batch of notifications is not answered", silent, [
    ask(entries(request({}), request({ params: [7] })), nothing),
    ask(entries(request({})), nothing),
  ]),
  write("notification-among-calls", "A notification among calls is not answered", silent, [
    ask(
      entries(request({ id: 1 }), request({}), request({ id: 2 })),
      batch(failing(notFound, "1"), failing(notFound, "2")),
    ),
  ]),
  write("notification-and-junk", "A notification next to a wrong entry is not answered", silent, [
    ask(entries(request({}), "1"), batch(invalid)),
  ]),
];
