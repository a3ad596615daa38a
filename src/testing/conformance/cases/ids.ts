import type { ConformanceCase } from "../case.ts";
import {
  ask,
  error,
  hygiene,
  invalidRequest,
  must,
  notFound,
  request,
  settled,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("ids");

const same = must(
  "JSON-RPC 2.0, 4 and 5",
  "The id of a response has the same value as the id of the request, whatever string or number it is.",
);
const nullId = must(
  "JSON-RPC 2.0, 4 and 4.1",
  "Null is discouraged as an id but allowed. Only a request without the member id is a notification.",
);
const wrongType = must(
  "JSON-RPC 2.0, 4 and 5",
  "An id is a string, a number or null. Anything else makes the request invalid, and the response has the id null.",
);
const care = hygiene(
  "An id that is hard to represent is answered or refused, and the answer is well-formed.",
);

/** A call with this id, which must be returned unchanged. */
function echoed(id: string) {
  return ask(`{"jsonrpc":"2.0","method":"conformance.absent","id":${id}}`, error(notFound, id));
}

export const idCases: readonly ConformanceCase[] = [
  write("string", "A string comes back", same, [echoed('"a-1"')]),
  write("zero", "The id 0 comes back", same, [echoed("0")]),
  write("empty-string", "The empty string comes back", same, [echoed('""')]),
  write("negative", "A negative number comes back", same, [echoed("-7")]),
  write("fraction", "A fraction comes back", same, [echoed("1.5")]),
  write("digits-in-string", 'The string "1" is not the number 1', same, [
    echoed('"1"'),
    echoed("1"),
  ]),
  write("largest-safe", "2^53-1 comes back", same, [echoed("9007199254740991")]),
  write("beyond-double", "Digits that a double cannot hold come back unchanged", same, [
    echoed("9007199254740993"),
    echoed("12345678901234567890"),
  ]),
  write("unicode", "Text beyond ASCII comes back", same, [echoed('"größe 日本 😀"')]),
  write("escapes", "Quotes, backslashes and line breaks come back", same, [
    echoed('"a\\"b\\\\c\\nd"'),
  ]),
  write("property-names", "Names that every object has come back", same, [
    echoed('"__proto__"'),
    echoed('"constructor"'),
  ]),
  write("null", "A call with the id null is answered", nullId, [echoed("null")]),
  write("boolean", "A boolean is not a valid id", wrongType, [
    ask(request({ id: true }), error(invalidRequest, "null")),
    ask(request({ id: false }), error(invalidRequest, "null")),
  ]),
  write("object", "An object is not a valid id", wrongType, [
    ask(request({ id: {} }), error(invalidRequest, "null")),
  ]),
  write("array", "An array is not a valid id", wrongType, [
    ask(request({ id: [1] }), error(invalidRequest, "null")),
  ]),
  write("overflow", "A number beyond all doubles is answered or refused", care, [
    ask('{"jsonrpc":"2.0","method":"conformance.absent","id":1e999}', settled),
  ]),
];
