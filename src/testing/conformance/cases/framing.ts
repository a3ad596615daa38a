import type { ConformanceCase, ConformanceExchange, Expectation, Text } from "../case.ts";
import {
  askInvalidUtf8,
  error,
  failing,
  hygiene,
  must,
  notFound,
  parseError,
  refusal,
  request,
  should,
  writerOf,
} from "../case-builders.ts";

const writeStream = writerOf("framing", "stream");
const writeLines = writerOf("framing", "newline");
const writeContentLength = writerOf("framing", "content-length");
const writeLengthPrefix = writerOf("framing", "length-prefix");
const writeWebSocket = writerOf("framing", "websocket");
const writeRawWebSocket = writerOf("framing", "raw-websocket");

const cut = must(
  "JSON-RPC 2.0, 1 (independent of transport); RFC 9293, 3.8",
  "A byte stream has no message boundaries. How the bytes are split on the way must not matter.",
);
const lines = should(
  "JSON Lines; NDJSON 1.0, 3",
  "With one message per line, a carriage return before the line feed and empty lines have no meaning.",
);
const headers = should(
  "Language Server Protocol, base protocol",
  "In the framing of language servers, Content-Length counts bytes, header names are case-insensitive, and Content-Type is allowed.",
);
const broken = hygiene(
  "A frame that cannot be read is answered, or the connection is closed. A server that silently waits for the rest keeps its client waiting.",
);
const frames = must("RFC 6455, 5.4", "A message in several frames is one message.");

const found: Expectation = error(notFound, "1");
const both: Expectation = {
  kind: "replies",
  replies: [failing(notFound, "1"), failing(notFound, "2")],
};
const call = request({ id: 1 });

function pieces(
  count: number,
  messages: readonly string[],
  expect: Expectation,
): ConformanceExchange {
  return { send: { kind: "pieces", messages, pieces: count }, expect };
}

function raw(text: Text, expect: Expectation): ConformanceExchange {
  return { send: { kind: "raw", text }, expect };
}

export const framingCases: readonly ConformanceCase[] = [
  writeStream("pieces", "A message that arrives in pieces is one message", cut, [
    pieces(3, [call], found),
    // Cut at every byte, so within the characters of several bytes too.
    pieces(200, [request({ id: "日本😀" })], error(notFound, '"日本😀"')),
  ]),
  writeStream("together", "Two messages that arrive together are both answered", cut, [
    pieces(1, [call, request({ id: 2 })], both),
  ]),
  writeStream("across", "Two messages that are cut in the wrong places are both answered", cut, [
    pieces(3, [call, request({ id: 2 })], both),
  ]),
  writeLines("crlf", "A line may end with CR and LF", lines, [raw(`${call}\r\n`, found)]),
  writeLines("blank-lines", "Empty lines are ignored", lines, [raw(`\n\n${call}\n\r\n\n`, found)]),
  writeLines("junk-line", "A line that is not JSON does not affect the next one", lines, [
    raw(`not json\n${call}\n`, {
      kind: "replies",
      replies: [failing(parseError, "null"), failing(notFound, "1")],
    }),
  ]),
  writeStream("not-utf8", "Bytes that are not UTF-8 are refused", broken, [askInvalidUtf8()]),
  writeContentLength("header-case", "content-length is Content-Length", headers, [
    raw(`content-length: ${call.length}\r\n\r\n${call}`, found),
  ]),
  writeContentLength("content-type", "A Content-Type beside the length is ignored", headers, [
    raw(
      `Content-Length: ${call.length}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n${call}`,
      found,
    ),
  ]),
  writeContentLength("huge-length", "A Content-Length of 99999999999 is refused", broken, [
    raw("Content-Length: 99999999999\r\n\r\n{", refusal),
  ]),
  writeContentLength("negative-length", "A Content-Length of -5 is refused", broken, [
    raw(`Content-Length: -5\r\n\r\n${call}`, refusal),
  ]),
  writeContentLength("no-length", "A header without a Content-Length is refused", broken, [
    raw(`Content-Type: application/json\r\n\r\n${call}`, refusal),
  ]),
  writeLengthPrefix("huge-prefix", "A length of 4 GiB is refused", broken, [
    raw("\xff\xff\xff\xff{", refusal),
  ]),
  writeWebSocket(
    "binary",
    "A binary frame is answered or refused",
    {
      ...broken,
      says: "JSON-RPC is text. A binary frame may be read as text or refused, but not silently ignored.",
    },
    [{ send: { kind: "frame", form: "binary", text: call }, expect: { kind: "settled" } }],
  ),
  writeRawWebSocket("fragments", "A message in fragments is one message", frames, [
    { send: { kind: "frame", form: "fragments", text: call }, expect: found },
  ]),
];
