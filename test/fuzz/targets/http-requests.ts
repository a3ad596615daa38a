/** Requests of HTTP/1.1 as clients send them, and as attackers would change them. */
import type { Random } from "../random.ts";

const clients: readonly (readonly string[])[] = [
  ["Host: localhost", "Content-Type: application/json", "Accept: application/json"],
  // undici
  ["host: localhost:8000", "connection: keep-alive", "content-type: application/json"],
  // curl
  [
    "Host: localhost:8000",
    "User-Agent: curl/8.5.0",
    "Accept: */*",
    "Content-Type: application/json",
  ],
  // python-requests
  [
    "Host: 127.0.0.1:8000",
    "User-Agent: python-requests/2.32.3",
    "Accept-Encoding: gzip, deflate",
    "Accept: */*",
    "Connection: keep-alive",
    "Content-Type: application/json",
  ],
  // Chromium
  [
    "Host: localhost:8000",
    "Connection: keep-alive",
    'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"',
    "sec-ch-ua-mobile: ?0",
    "Content-Type: application/json",
    "Accept: */*",
    "Origin: http://localhost:8000",
    "Sec-Fetch-Site: same-origin",
    "Sec-Fetch-Mode: cors",
    "Sec-Fetch-Dest: empty",
    "Cookie: a=1; b=2",
  ],
];

const bodies: readonly string[] = [
  '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}',
  '{"jsonrpc": "2.0", "method": "echo", "params": ["grüße, 世界, 🙂"], "id": 2}',
  "",
  "\ufeff{}",
  "\ufffd",
  "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
  "0\r\n\r\nPOST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  `["${"x".repeat(3_000)}"]`,
];

const lines: readonly string[] = [
  "POST /rpc HTTP/1.0",
  "POST /rpc HTTP/1.2",
  "POST /rpc HTTP/2.0",
  "POST /rpc http/1.1",
  "POST  /rpc HTTP/1.1",
  "POST /rpc  HTTP/1.1",
  "POST /rpc HTTP/1.1 ",
  " POST /rpc HTTP/1.1",
  "post /rpc HTTP/1.1",
  "\r\nPOST /rpc HTTP/1.1",
  "GET /rpc HTTP/1.1",
  "PUT /rpc HTTP/1.1",
  "OPTIONS * HTTP/1.1",
  "POST * HTTP/1.1",
  "POST http://localhost/rpc HTTP/1.1",
  "POST /rpc?a=b HTTP/1.1",
  "POST /rpc# HTTP/1.1",
  "POST /rpc/ HTTP/1.1",
  "POST /%72pc HTTP/1.1",
  "POST /other HTTP/1.1",
  "POST /rpc\tHTTP/1.1",
  "POST /rpc",
  "CONNECT localhost:80 HTTP/1.1",
];

const headers: readonly string[] = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding : chunked",
  "transfer-encoding:\tchunked",
  "Transfer-Encoding: gzip, chunked",
  "X: a\r\n Transfer-Encoding: chunked",
  "X: a\nTransfer-Encoding: chunked",
  "X: a\rTransfer-Encoding: chunked",
  "Content-Length: 3",
  "content-length: 0",
  "Content-Length : 3",
  "Content-Length:",
  "Content-Length: +3",
  "Content-Length: 03",
  "Content-Length: 3,3",
  "Content-Length: 0x3",
  "Content-Length: -1",
  "Content-Length: 3 3",
  "Content-Length: 99999999999999999999",
  "Content-Length: 12345678",
  "Content_Length: 3",
  "Host: other",
  "Host:",
  "Connection: close",
  "Connection: Keep-Alive",
  "Connection: keep-alive, close",
  "Connection: Upgrade",
  "Proxy-Connection: close",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "Expect: other",
  "TE: trailers",
  "Trailer: X",
  "Cookie: c=3",
  "Set-Cookie: a=1",
  "X-A: 1",
  "x-a: 2",
  "X-B:",
  "X-C:  padded \t",
  "X-D: \xe4\xff",
  "X-E: \x00",
  "X-F: \x7f",
  "X G: 1",
  "X-H",
  ": 1",
  "",
  " folded",
  "__proto__: 1",
  "constructor: 1",
  `X-Long: ${"l".repeat(9_000)}`,
  Array.from({ length: 80 }, (_, i) => `X-Many-${i}: 1`).join("\r\n"),
];

const ends: readonly string[] = ["\n", "\r", "\r\n\r\n", "\n\n", "\r\r\n", " \r\n", "\0\r\n"];

/** Some requests for one connection, most of them plain. */
export function requestBytes(random: Random): Buffer {
  const client = random.pick(clients);
  const count = random.oneIn(3) ? 1 + random.below(4) : 1;
  const one = (): Buffer => messageBytes(random, "POST /rpc HTTP/1.1", lines, client);
  const bytes = Buffer.concat(Array.from({ length: count }, one));
  return random.oneIn(4) ? mutated(random, bytes) : bytes;
}

/** How the bytes of messages are cut. Single bytes take long, and find little here. */
export function pieceLengthsOf(random: Random): number[] {
  if (!random.oneIn(2)) return [];
  return random.oneIn(50) ? [1] : [1 + random.below(400), 1 + random.below(400)];
}

/** A message with these headers, sometimes with others or with another first line. */
export function messageBytes(
  random: Random,
  usual: string,
  others: readonly string[],
  client: readonly string[],
): Buffer {
  const body = bodyBytes(random);
  const wrong = random.oneIn(8) ? random.below(5) - 2 : 0;
  const head = [...client];
  const length = `${random.pick(["Content-Length", "content-length"])}: ${body.length + wrong}`;
  head.splice(random.below(head.length + 1), 0, length);
  if (random.oneIn(3)) head.splice(random.below(head.length + 1), 0, random.pick(headers));
  if (random.oneIn(12)) head.splice(random.below(head.length), 1);
  if (random.oneIn(12)) head.push(random.pick(head));
  const line = random.oneIn(8) ? random.pick(others) : usual;
  const end = (): string => (random.oneIn(60) ? random.pick(ends) : "\r\n");
  const text = [line, ...head].map((each) => each + end()).join("") + end();
  return Buffer.concat([Buffer.from(text, "latin1"), body]);
}

function bodyBytes(random: Random): Buffer {
  const body = Buffer.from(random.pick(bodies));
  if (body.length > 0 && random.oneIn(10)) body[random.below(body.length)] = random.below(256);
  return body;
}

export function mutated(random: Random, bytes: Buffer): Buffer {
  let result = bytes;
  for (let i = 1 + random.below(3); i > 0; i--) {
    const at = random.below(result.length + 1);
    const inserted = random.pick([
      Buffer.of(random.below(256)),
      Buffer.from(random.pick([" ", "\t", "\r\n", "\n", ":", ",", "\0", "POST ", "HTTP/1.1"])),
    ]);
    const removed = random.below(3);
    result = Buffer.concat([
      result.subarray(0, at),
      random.oneIn(3) ? Buffer.alloc(0) : inserted,
      result.subarray(at + removed),
    ]);
  }
  return result;
}
