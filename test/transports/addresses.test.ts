import { httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { tcpLink, unixLink } from "callwire/tcp";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
// What browsers, Deno, Bun and Workers get.
import { httpLink as fetchLink } from "../../src/transports/http/fetch-link.ts";
import { webSocketLink as nativeLink } from "../../src/transports/ws/native-client.ts";

const http = "http://host/path or https://host/path";
const ws = "ws://host/path or wss://host/path";
const tcp = "tcp://host:port or tls://host:port";
const links = {
  httpLink: [httpLink, http],
  "httpLink with fetch": [fetchLink, http],
  sseLink: [sseLink, http],
  webSocketLink: [webSocketLink, ws],
  "webSocketLink of a page": [nativeLink, ws],
  tcpLink: [tcpLink, tcp],
} as const;

describe.each(Object.entries(links))("%s", (_, [link, forms]) => {
  test.each(["localhost:8000", "127.0.0.1:8000/rpc", "ftp://host/rpc", "unix:/tmp/rpc.sock"])(
    "refuses %j at once, and says what it takes",
    (address) => {
      const sentence = `the address must be ${forms}, not ${address}`;
      expect(() => link(address)).toThrow(new TypeError(sentence));
    },
  );

  test("shows neither the user nor the query of what it refuses", () => {
    const sentence = `the address must be ${forms}, not ftp://host/rpc`;
    expect(() => link("ftp://me:secret@host/rpc?token=secret")).toThrow(new TypeError(sentence));
  });
});

test.each([
  ["httpLink", () => httpLink("ws://host/rpc"), `the address must be ${http}, not ws://host/rpc`],
  ["sseLink", () => sseLink("wss://host/rpc"), `the address must be ${http}, not wss://host/rpc`],
  ["httpLink", () => httpLink("/rpc"), `the address must be ${http}, not /rpc`],
  ["httpLink", () => httpLink(""), `the address must be ${http}, not ""`],
  ["webSocketLink", () => webSocketLink("/rpc"), `the address must be ${ws}, not /rpc`],
  ["tcpLink", () => tcpLink("tcp://host"), `the address must be ${tcp}, not tcp://host`],
  ["tcpLink", () => tcpLink({}), "a socket needs either a port or a path"],
  ["unixLink", () => unixLink(""), "a socket needs either a port or a path"],
])("%s refuses what is not for it (%#)", (_, link, sentence) => {
  expect(link).toThrow(new TypeError(sentence));
});

test("a connection to an address that is none is refused in the same way", async () => {
  const sentence = `the address must be ${ws}, not localhost:8000`;
  await expect(connectWebSocket("localhost:8000")).rejects.toThrow(new TypeError(sentence));
});

test("addresses relative to a page are taken where there may be one", async () => {
  vi.stubGlobal("location", { href: "https://example.com/app/" });
  onTestFinished(() => void vi.unstubAllGlobals());
  for (const address of ["/rpc", "rpc", "../rpc", "?a=b:c", "//host:8000/rpc"]) {
    await fetchLink(address).close();
    await sseLink(address).close();
    await nativeLink(address).close();
  }
});
