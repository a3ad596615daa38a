import type { ConformanceCase } from "../case.ts";
import {
  ask,
  error,
  invalidParams,
  invalidRequest,
  must,
  notFound,
  request,
  result,
  should,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("params");

const position = must(
  "JSON-RPC 2.0, 4.2",
  "Params by position are an array with the values in the order that the server expects.",
);
const names = should(
  "JSON-RPC 2.0, 4.2",
  "Params by name are an object whose members match the names that the server expects, in any order.",
);
const optional = must("JSON-RPC 2.0, 4", "The member params may be left out, and may be empty.");
const structured = must(
  "JSON-RPC 2.0, 4.2 and 5.1",
  "If there are params, they are an array or an object. Anything else is an invalid request; -32602 is accepted too.",
);
const structuredNull = {
  ...structured,
  level: "SHOULD",
  says: "If there are params, they are an array or an object, which null is not. Many servers read it as no params.",
} as const;
const checked = should("JSON-RPC 2.0, 5.1", "Params that do not fit the method give -32602.");

const refused = [invalidRequest, invalidParams];

function withParams(params: string) {
  return `{"jsonrpc":"2.0","method":"conformance.absent","params":${params},"id":1}`;
}

export const paramsCases: readonly ConformanceCase[] = [
  write("by-position", "Params by position reach the method", position, [
    ask(request({ method: "<add>", params: [5, 3], id: 1 }), result("8", "1")),
  ]),
  write("by-name", "Params by name reach the method", names, [
    ask(request({ method: "<add>", params: { a: 5, b: 3 }, id: 1 }), result("8", "1")),
    ask(request({ method: "<add>", params: { b: 3, a: 5 }, id: 2 }), result("8", "2")),
  ]),
  write("omitted", "Params may be left out", optional, [
    ask(request({ id: 1 }), error(notFound, "1")),
  ]),
  write("omitted-known", "A call without params of a method that exists is answered", optional, [
    ask(request({ method: "<echo>", id: 1 }), { kind: "reply", reply: { ids: ["1"] } }),
  ]),
  write("empty", "Params may be an empty array or object", optional, [
    ask(withParams("[]"), error(notFound, "1")),
    ask(withParams("{}"), error(notFound, "1")),
  ]),
  write("string", "A string is not valid as params", structured, [
    ask(withParams('"bar"'), error(refused, "1", "null")),
  ]),
  write("number", "A number is not valid as params", structured, [
    ask(withParams("1"), error(refused, "1", "null")),
    ask(withParams("0"), error(refused, "1", "null")),
  ]),
  write("boolean", "A boolean is not valid as params", structured, [
    ask(withParams("true"), error(refused, "1", "null")),
    ask(withParams("false"), error(refused, "1", "null")),
  ]),
  write("null", "Null is not valid as params", structuredNull, [
    ask(withParams("null"), error(refused, "1", "null")),
  ]),
  write("wrong-type", "Values of the wrong type give -32602", checked, [
    ask(request({ method: "<add>", params: ["x", {}], id: 1 }), error(invalidParams, "1")),
  ]),
  write("missing", "Params that are missing give -32602", checked, [
    ask(request({ method: "<add>", params: [5], id: 1 }), error(invalidParams, "1")),
    ask(request({ method: "<add>", id: 2 }), error(invalidParams, "2")),
  ]),
  write(
    "name-case",
    "Names of params match only in the same case",
    should(
      "JSON-RPC 2.0, 4.2",
      "Names of params match exactly, case included, and missing ones may give an error.",
    ),
    [ask(request({ method: "<add>", params: { A: 5, B: 3 }, id: 1 }), error(invalidParams, "1"))],
  ),
];
