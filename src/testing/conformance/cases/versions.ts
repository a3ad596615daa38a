import type { ConformanceCase } from "../case.ts";
import {
  absentMethod,
  ask,
  error,
  invalidRequest,
  must,
  oneOf,
  request,
  should,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("versions");

const exact = must(
  "JSON-RPC 2.0, 4 and 5.1",
  'The member jsonrpc must be exactly the string "2.0"; a request with another is invalid.',
);

function withVersion(version: unknown) {
  return ask(request({ jsonrpc: version, id: 1 }), error(invalidRequest, "1", "null"));
}

export const versionCases: readonly ConformanceCase[] = [
  write("missing", "A request without a version is invalid", exact, [
    // In 1.0 params must be an array, so these are not 1.0 requests either.
    ask(
      JSON.stringify({ method: absentMethod, params: {}, id: 1 }),
      error(invalidRequest, "1", "null"),
    ),
    ask(JSON.stringify({ method: absentMethod, id: 2 }), error(invalidRequest, "2", "null")),
  ]),
  write("other", "2.1, 2 and 1.0 are not 2.0", exact, ["2.1", "2", "1.0"].map(withVersion)),
  write("number", "The number 2.0 is not the string", exact, [
    ask('{"jsonrpc":2.0,"method":"conformance.absent","id":1}', error(invalidRequest, "1", "null")),
  ]),
  write("null", "Null is not a version", exact, [withVersion(null)]),
  write("array", 'The array ["2.0"] is not the string', exact, [withVersion(["2.0"])]),
  write(
    "without-id",
    "A wrong version is answered even without an id, since it is not a notification",
    exact,
    [ask(request({ jsonrpc: "3.0" }), error(invalidRequest, "null"))],
  ),
  write(
    "member-case",
    "JSONRPC is not the member jsonrpc",
    should("JSON-RPC 2.0, 2", "Names of members are case-sensitive."),
    [
      ask(
        '{"JSONRPC":"2.0","method":"conformance.absent","id":1}',
        error(invalidRequest, "1", "null"),
      ),
    ],
  ),
  write(
    "one",
    "A 1.0 request is answered in 1.0 or refused",
    should(
      "JSON-RPC 2.0, 3; JSON-RPC 1.0, 1.2",
      "A 2.0 server may support 1.0 as well, which it recognizes by the missing version. A 1.0 response has result, error and id.",
    ),
    [
      ask(
        JSON.stringify({ method: absentMethod, params: [], id: 1 }),
        oneOf(error(invalidRequest, "1", "null"), { kind: "version-1", id: "1" }),
      ),
    ],
  ),
];
