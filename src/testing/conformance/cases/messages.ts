import type { ConformanceCase } from "../case.ts";
import {
  ask,
  error,
  hygiene,
  invalidRequest,
  must,
  notFound,
  nothing,
  oneOf,
  parseError,
  request,
  result,
  should,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("core");
const writeHttp = writerOf("core", "http");

const call = must(
  "JSON-RPC 2.0, 5 and 5.1",
  "A call is answered with a Response object of the same id. A method that does not exist gives -32601.",
);
const success = must(
  "JSON-RPC 2.0, 5",
  "The member result is required on success, whatever its value, and error must then not exist.",
);
const silence = must(
  "JSON-RPC 2.0, 4.1",
  "A notification is a request without an id, and the server must not answer it, not even with an error.",
);
const unreadable = must(
  "JSON-RPC 2.0, 5 and 5.1",
  "A message that is not JSON gives -32700, with the id null.",
);
const noRequest = must(
  "JSON-RPC 2.0, 4, 5 and 5.1",
  "JSON that is not a valid Request object gives -32600. If the id cannot be determined, it is null.",
);
const writing = must(
  "JSON-RPC 2.0, 2",
  "Messages are JSON (RFC 8259): members in any order, white space between tokens, escapes in strings.",
);
const strictCase = should("JSON-RPC 2.0, 2", "Names of members are case-sensitive.");
const lenient = hygiene(
  "The specification does not forbid other members; a server that ignores them can be extended.",
);

/** The cases of the group "core". */
export const messageCases: readonly ConformanceCase[] = [
  write("call", "A call of an unknown method is answered with -32601", call, [
    ask(request({ id: 1 }), error(notFound, "1")),
  ]),
  write("result", "A call that succeeds has a result", success, [
    ask(request({ method: "<add>", params: [5, 3], id: 1 }), result("8", "1")),
  ]),
  write("falsy-results", "A result that is null, false, 0 or empty is still a result", success, [
    ...["null", "false", "0", '""', "[]"].map((value, i) =>
      ask(
        `{"jsonrpc":"2.0","method":"<echo>","params":[${value}],"id":${i + 1}}`,
        result(value, `${i + 1}`),
      ),
    ),
  ]),
  write("unicode", "Text beyond ASCII comes back as it was", success, [
    ask(
      request({ method: "<echo>", params: ["Grüße 日本 😀"], id: 1 }),
      result('"Grüße 日本 😀"', "1"),
    ),
  ]),
  write("notification", "A notification of a method that exists is not answered", silence, [
    ask(request({ method: "<add>", params: [5, 3] }), nothing),
  ]),
  write("notification-unknown", "A notification of an unknown method is not answered", silence, [
    ask(request({}), nothing),
    ask(request({ params: [1, 2, 3] }), nothing),
  ]),
  write("notification-fails", "A notification whose method fails is not answered", silence, [
    ask(request({ method: "<fail>", params: ["conformance"] }), nothing),
  ]),
  write("notification-params", "A notification with wrong params is not answered", silence, [
    ask(request({ method: "<add>", params: ["x"] }), nothing),
  ]),
  write("parse-error", "A message that is not JSON is a parse error", unreadable, [
    ask('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', error(parseError, "null")),
  ]),
  write("truncated", "A message that is cut off is a parse error", unreadable, [
    ask('{"jsonrpc":"2.0","method":"conformance.absent","id":1', error(parseError, "null")),
  ]),
  write("trailing-comma", "A trailing comma is a parse error", unreadable, [
    ask('{"jsonrpc":"2.0","method":"conformance.absent","id":1,}', error(parseError, "null")),
  ]),
  write("single-quotes", "Strings in single quotes are a parse error", unreadable, [
    ask("{'jsonrpc':'2.0','method':'conformance.absent','id':1}", error(parseError, "null")),
  ]),
  write("not-a-number", "NaN is a parse error", unreadable, [
    ask(
      '{"jsonrpc":"2.0","method":"conformance.absent","params":[NaN],"id":1}',
      error(parseError, "null"),
    ),
  ]),
  write("two-values", "Two messages without a batch around them are a parse error", unreadable, [
    ask(`${request({ id: 1 })} ${request({ id: 2 })}`, error(parseError, "null")),
  ]),
  writeHttp("empty", "An empty body is a parse error", unreadable, [
    ask("", error(parseError, "null")),
  ]),
  write("scalars", "A number, a string, a boolean or null is not a request", noRequest, [
    ...["1", '"conformance.absent"', "true", "null"].map((text) =>
      ask(text, error(invalidRequest, "null")),
    ),
  ]),
  write("empty-object", "An object without members is not a request", noRequest, [
    ask("{}", error(invalidRequest, "null")),
  ]),
  write("method-missing", "A request without a method is invalid", noRequest, [
    ask('{"jsonrpc":"2.0","id":1}', error(invalidRequest, "1", "null")),
    ask('{"jsonrpc":"2.0"}', error(invalidRequest, "null")),
  ]),
  write("method-type", "A method that is not a string is invalid", noRequest, [
    ...["1", "null", "true", "[]", "{}"].map((value) =>
      ask(`{"jsonrpc":"2.0","method":${value},"id":1}`, error(invalidRequest, "1", "null")),
    ),
  ]),
  write("invalid-without-id", "An invalid request is answered even without an id", noRequest, [
    ask('{"jsonrpc":"2.0","method":1,"params":"bar"}', error(invalidRequest, "null")),
  ]),
  write("empty-name", "The empty string is the name of a method that does not exist", call, [
    ask(request({ method: "", id: 1 }), error(notFound, "1")),
  ]),
  write("reserved-name", "An unknown method with the reserved prefix rpc. is not found", call, [
    ask(request({ method: "rpc.conformance.absent", id: 1 }), error(notFound, "1")),
  ]),
  write("member-order", "Members may be in any order", writing, [
    ask('{"id":1,"method":"conformance.absent","jsonrpc":"2.0"}', error(notFound, "1")),
  ]),
  write("white-space", "White space around tokens changes nothing", writing, [
    ask(
      ' \t{ "jsonrpc" : "2.0" , "method" : "conformance.absent" , "id" : 1 } ',
      error(notFound, "1"),
    ),
  ]),
  write("escapes", "Names of members may be written with escapes", writing, [
    ask('{"jsonrpc":"2.\\u0030","\\u006dethod":"conformance.absent","id":1}', error(notFound, "1")),
  ]),
  write("member-case", "METHOD is not the member method", strictCase, [
    ask(
      '{"jsonrpc":"2.0","METHOD":"conformance.absent","id":1}',
      error(invalidRequest, "1", "null"),
    ),
  ]),
  write("extra-members", "Members that the specification does not define are ignored", lenient, [
    ask(request({ id: 1, extra: { a: [1] } }), error(notFound, "1")),
  ]),
  write(
    "stray-response",
    "A response that answers no call is ignored or refused",
    hygiene(
      "A response that answers no call is not a request. On a connection it may be ignored; the server must keep working.",
    ),
    [
      ask(
        '{"jsonrpc":"2.0","result":1,"id":77}',
        oneOf(nothing, error(invalidRequest, "77", "null")),
      ),
    ],
  ),
];
