import type { ConformanceCase } from "../case.ts";
import {
  ask,
  error,
  hygiene,
  invalidParams,
  invalidRequest,
  must,
  notFound,
  oneOf,
  post,
  refusal,
  request,
  result,
  unaccepted,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("security");
const writeHttp = writerOf("security", "http");
const writeRawHttp = writerOf("security", "raw-http");
const writeLocalHttp = writerOf("security", "raw-http", "loopback");
const writeLocalSocket = writerOf("security", "raw-websocket", "loopback");

const inherited = must(
  "JSON-RPC 2.0, 5.1",
  "A name that is not a method gives -32601, even if the language gives every object a property of that name.",
);
const simple = hygiene(
  "Any page can make a browser send text/plain, a form or a body without a type to any server. Requiring a type that pages may not send without permission keeps them out.",
  "Fetch, CORS-safelisted request-header",
);
const visitors = hygiene(
  "A server that lets pages of any origin read its replies serves every page that its users visit. Public servers may want that.",
  "Fetch, CORS protocol",
);
const local = hygiene(
  "A page can make its own host name resolve to this machine. A local server that does not check Host or Origin then accepts its calls.",
  "RFC 6455, 10.2; RFC 9110, 7.2",
);

const call = request({ id: 1 });
const foreign = "http://conformance.example";

export const securityCases: readonly ConformanceCase[] = [
  write(
    "inherited-names",
    "Names that every object has are not methods",
    inherited,
    ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"].map((method) =>
      ask(request({ method, id: 1 }), error(notFound, "1")),
    ),
  ),
  write("inherited-paths", "Paths through such names are not methods", inherited, [
    ...["constructor.name", "<add>.call", "<add>/constructor", "__proto__/toString"].map((method) =>
      ask(request({ method, params: [1, 2], id: 1 }), error(notFound, "1")),
    ),
  ]),
  write(
    "prototype-params",
    "Params cannot reach the prototype of objects",
    hygiene(
      "A member called __proto__ is data like any other: it is ignored or refused, and changes nothing.",
    ),
    [
      ask(
        '{"jsonrpc":"2.0","method":"<add>","params":{"a":5,"b":3,"__proto__":{"a":1,"polluted":true}},"id":1}',
        oneOf(result("8", "1"), error(invalidParams, "1")),
      ),
      ask(
        '{"jsonrpc":"2.0","method":"<add>","params":{"__proto__":{"a":5,"b":3}},"id":2}',
        // A server that adds undefined values gets NaN, which JSON writes as null.
        oneOf(error([invalidParams, invalidRequest], "2"), result("null", "2")),
      ),
    ],
  ),
  writeHttp("text-plain", "A body of the type text/plain is not accepted", simple, [
    post({ "content-type": "text/plain" }, call, unaccepted),
  ]),
  writeHttp(
    "text-plain-disguised",
    "text/plain with application/json in a parameter is not accepted",
    simple,
    [post({ "content-type": "text/plain; x=application/json" }, call, unaccepted)],
  ),
  writeHttp("form", "A form is not accepted", simple, [
    post({ "content-type": "application/x-www-form-urlencoded" }, call, unaccepted),
    post({ "content-type": "multipart/form-data; boundary=x" }, call, unaccepted),
  ]),
  writeHttp("no-type", "A body without a type is not accepted", simple, [
    post({ "content-type": null }, call, unaccepted),
  ]),
  writeRawHttp("get-call", "A call in the query of a GET is not accepted", simple, [
    {
      send: {
        kind: "raw",
        text: `GET {path}?jsonrpc=2.0&method=conformance.absent&id=1 HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n`,
      },
      expect: unaccepted,
    },
  ]),
  writeRawHttp("foreign-origin", "Pages of a foreign origin may not read replies", visitors, [
    post({ origin: foreign }, call, { kind: "closed-to-origin", origin: foreign }),
    {
      send: {
        kind: "request",
        verb: "OPTIONS",
        headers: {
          origin: foreign,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
          "content-type": null,
        },
        body: "",
      },
      expect: { kind: "closed-to-origin", origin: foreign },
    },
  ]),
  writeLocalHttp("foreign-host", "A local server refuses a foreign host name", local, [
    post({ host: "conformance.example" }, call, unaccepted),
  ]),
  writeLocalSocket(
    "foreign-socket",
    "A local server refuses a WebSocket from a foreign page",
    local,
    [{ send: { kind: "handshake", headers: { origin: foreign } }, expect: refusal }],
  ),
];
