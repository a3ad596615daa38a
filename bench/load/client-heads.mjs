/** Heads of POST requests as common clients sent them to a socket that recorded them; each a function of port, path and length. */
export const clientHeads = [
  // fetch in a page (Chromium), on its own origin
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      "Connection: keep-alive",
      `Content-Length: ${length}`,
      'sec-ch-ua-platform: "Linux"',
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
      'sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156"',
      "content-type: application/json",
      "sec-ch-ua-mobile: ?0",
      "Accept: */*",
      `Origin: http://localhost:${port}`,
      "Sec-Fetch-Site: same-origin",
      "Sec-Fetch-Mode: cors",
      "Sec-Fetch-Dest: empty",
      `Referer: http://localhost:${port}/`,
      "Accept-Encoding: gzip, deflate, br, zstd",
      "Accept-Language: en-US,en;q=0.9",
    ]),
  // undici's request
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      `host: localhost:${port}`,
      "connection: keep-alive",
      "content-type: application/json",
      `content-length: ${length}`,
    ]),
  // axios in Node
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      "Accept: application/json, text/plain, */*",
      "Content-Type: application/json",
      "User-Agent: axios/1.21.1",
      `Content-Length: ${length}`,
      "Accept-Encoding: gzip, compress, deflate, br",
      `Host: localhost:${port}`,
      "Connection: keep-alive",
    ]),
  // python-requests
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      "User-Agent: python-requests/2.34.2",
      "Accept-Encoding: gzip, deflate",
      "Accept: */*",
      "Connection: keep-alive",
      `Content-Length: ${length}`,
      "Content-Type: application/json",
    ]),
  // Go's net/http
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      "User-Agent: Go-http-client/1.1",
      `Content-Length: ${length}`,
      "Content-Type: application/json",
      "Accept-Encoding: gzip",
    ]),
  // curl
  (port, path, length) =>
    lines([
      `POST ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      "User-Agent: curl/7.88.1",
      "Accept: */*",
      "Content-Type: application/json",
      `Content-Length: ${length}`,
    ]),
];

function lines(head) {
  return head.join("\r\n");
}
