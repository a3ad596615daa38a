import type { ConformanceCase, ConformanceExchange, Expectation } from "../case.ts";
import {
  askInvalidUtf8,
  error,
  failing,
  hygiene,
  invalidRequest,
  notFound,
  nothing,
  oneOf,
  parseError,
  post,
  refusal,
  request,
  should,
  writerOf,
} from "../case-builders.ts";

const writeHttp = writerOf("http", "http");
const writeRawHttp = writerOf("http", "raw-http");

const carried = should(
  "JSON-RPC over HTTP (proposal), 3",
  "JSON-RPC says nothing about HTTP. The old proposal for it, and what clients do, has POST, application/json and the status 200 for replies.",
);
const careful = hygiene(
  "A request that is not proper HTTP is refused at once; the server neither waits nor guesses.",
  "RFC 9112, 6",
);

const call = request({ id: 1 });
const found = error(notFound, "1");
const wrongStatus: Expectation = { kind: "status", from: 400, to: 599 };

/** A raw request that asks the server to close the connection. */
function raw(lines: readonly string[], body: string, expect: Expectation): ConformanceExchange {
  const head = ["POST {path} HTTP/1.1", "Host: {host}", "{headers}Connection: close", ...lines];
  return { send: { kind: "raw", text: `${head.join("\r\n")}\r\n\r\n${body}` }, expect };
}

function withLength(body: string): string {
  return `POST {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

const json = "Content-Type: application/json";

export const httpCases: readonly ConformanceCase[] = [
  writeHttp("status", "A reply has the status 200", carried, [
    post({}, call, { kind: "all", of: [{ kind: "status", from: 200, to: 200 }, found] }),
  ]),
  writeHttp("content-type", "A reply is application/json", carried, [
    post({}, call, {
      kind: "all",
      of: [{ kind: "content-type", type: "application/json" }, found],
    }),
  ]),
  writeHttp(
    "notification-status",
    "A notification has a status of 200 to 299 and no body",
    carried,
    [post({}, request({}), { kind: "all", of: [{ kind: "status", from: 200, to: 299 }, nothing] })],
  ),
  writeHttp("charset", "application/json with a charset is the same type", carried, [
    post({ "content-type": "application/json; charset=utf-8" }, call, found),
  ]),
  writeHttp("accept-any", "A client that accepts anything gets a reply", carried, [
    post({ accept: "*/*" }, call, found),
  ]),
  writeHttp(
    "events",
    "A client that accepts events gets the same reply, as events or as JSON",
    should(
      "HTML, 9.2; beyond JSON-RPC 2.0",
      "A reply that is sent as a stream of events is the data of an event, in the form that the HTML standard gives.",
    ),
    [
      post({ accept: "application/json, text/event-stream" }, call, found),
      post(
        { accept: "text/event-stream" },
        call,
        oneOf(found, { kind: "status", from: 406, to: 406 }),
      ),
    ],
  ),
  writeHttp(
    "not-json",
    "A body that is not JSON is a parse error, also if its header says JSON",
    carried,
    [post({}, "a=1&b=2", error(parseError, "null"))],
  ),
  writeHttp(
    "get",
    "GET is refused",
    {
      ...carried,
      level: "hygiene",
      says: "Calls come by POST. Other verbs are refused with a status, best 405.",
    },
    [
      { send: { kind: "request", verb: "GET", headers: {}, body: "" }, expect: wrongStatus },
      { send: { kind: "request", verb: "PUT", headers: {}, body: call }, expect: wrongStatus },
    ],
  ),
  writeHttp(
    "not-utf8",
    "Bytes that are not UTF-8 are refused",
    hygiene(
      "JSON between systems is UTF-8 (RFC 8259). Replacing invalid bytes would change the message.",
      "RFC 8259, 8.1",
    ),
    [askInvalidUtf8()],
  ),
  writeHttp("encoding", "A body that claims to be compressed and is not is refused", careful, [
    post({ "content-encoding": "gzip" }, call, refusal),
  ]),
  writeRawHttp(
    "chunked",
    "A chunked body is accepted",
    should("RFC 9112, 7.1", "A recipient must be able to read the chunked transfer coding."),
    [
      raw(
        [json, "Transfer-Encoding: chunked"],
        `a\r\n${call.slice(0, 10)}\r\n${(call.length - 10).toString(16)}\r\n${call.slice(10)}\r\n0\r\n\r\n`,
        found,
      ),
    ],
  ),
  writeRawHttp(
    "keep-alive",
    "A connection stays open after a parse error",
    should(
      "RFC 9112, 9.3",
      "Connections persist; an error in the content of one request does not concern the connection.",
    ),
    [
      {
        send: {
          kind: "raw",
          text:
            withLength("{") + withLength(call).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
        },
        expect: {
          kind: "replies",
          replies: [failing([parseError, invalidRequest], "null"), failing(notFound, "1")],
        },
      },
    ],
  ),
  writeRawHttp(
    "huge-length",
    "A Content-Length of 99999999999 is refused before the body arrives",
    careful,
    [raw([json, "Content-Length: 99999999999"], "{", refusal)],
  ),
  writeRawHttp("negative-length", "A Content-Length of -5 is refused", careful, [
    raw([json, "Content-Length: -5"], call, refusal),
  ]),
  writeRawHttp(
    "two-lengths",
    "Content-Length together with Transfer-Encoding is refused",
    {
      ...careful,
      says: "A request with both is how one request is smuggled inside another; a server should refuse it.",
      section: "RFC 9112, 6.1",
    },
    [
      raw(
        [json, "Content-Length: 5", "Transfer-Encoding: chunked"],
        `${call.length.toString(16)}\r\n${call}\r\n0\r\n\r\n`,
        refusal,
      ),
    ],
  ),
];
