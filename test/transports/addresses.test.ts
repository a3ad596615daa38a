import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { tcpLink, unixLink } from "callwire/tcp";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { WebSocket as PlatformWebSocket } from "undici";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
// The link of browsers, Deno, Bun and Workers.
import { httpLink as fetchLink } from "../../src/transports/http/fetch-link.ts";
import { webSocketLink as nativeLink } from "../../src/transports/ws/native-client.ts";
import { serve } from "./http/wire.ts";

const http = "http(s)://host/path";
const ws = "ws(s)://host/path";
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

  test("shows neither the user nor the query of a refused address", () => {
    const sentence = `the address must be ${forms}, not ftp://host/rpc`;
    expect(() => link("ftp://me:secret@host/rpc?token=secret")).toThrow(new TypeError(sentence));
  });
});

test.each([
  ["httpLink", () => httpLink("ws://host/rpc"), `the address must be ${http}, not ws://host/rpc`],
  ["sseLink", () => sseLink("wss://host/rpc"), `the address must be ${http}, not wss://host/rpc`],
  ["httpLink", () => httpLink(""), `the address must be ${http}, not ""`],
  ["tcpLink", () => tcpLink("tcp://host"), `the address must be ${tcp}, not tcp://host`],
  ["tcpLink", () => tcpLink({}), "a socket needs either a port or a path"],
  ["unixLink", () => unixLink(""), "a socket needs either a port or a path"],
])("%s refuses what is not for it (%#)", (_, link, sentence) => {
  expect(link).toThrow(new TypeError(sentence));
});

test("a connection to an invalid address is refused in the same way", async () => {
  const sentence = `the address must be ${ws}, not localhost:8000`;
  await expect(connectWebSocket("localhost:8000")).rejects.toThrow(new TypeError(sentence));
});

test("addresses relative to a page are accepted by links that pages use", async () => {
  vi.stubGlobal("location", { href: "https://example.com/app/" });
  onTestFinished(() => void vi.unstubAllGlobals());
  for (const address of ["/rpc", "rpc", "../rpc", "?a=b:c", "//host:8000/rpc"]) {
    await fetchLink(address).close();
    await sseLink(address).close();
    await nativeLink(address).close();
  }
});

describe("a relative address", () => {
  // undici has the WebSocket of browsers.
  beforeEach(() => void vi.stubGlobal("WebSocket", PlatformWebSocket));
  afterEach(() => void vi.unstubAllGlobals());
  const relative = "the address must be absolute without a page or baseUrl, not /rpc";
  const makers = { httpLink, fetchLink, sseLink, webSocketLink, nativeLink };

  test.each(Object.entries(makers))(
    "of %s is not resolved before a call, so that pages can be built without a browser",
    async (_, link) => {
      const client = createClient(link("/rpc?key=secret", {}));
      await expect(client.call("echo", ["hi"])).rejects.toThrow(new TypeError(relative));
      await client.close();
    },
  );

  test("is left to a fetch that is given", async () => {
    const asked: string[] = [];
    const fetch = async (url: string) => {
      asked.push(url);
      return Response.json({ jsonrpc: "2.0", result: "hi", id: null }, { status: 503 });
    };
    await createClient(httpLink("/rpc", { fetch }))
      .call("echo")
      .catch(() => {});
    expect(asked).toEqual(["/rpc"]);
  });

  test.each(Object.entries(makers))("of %s counts from the page", async (_, link) => {
    const http = await serve({ echo: (value: unknown) => value });
    vi.stubGlobal("location", { href: new URL("/app/", http.url).href });
    await using client = createClient(link("/rpc", {}));
    expect(await client.call("echo", ["hi"])).toBe("hi");
  });

  test.each(Object.entries(makers))("of %s counts from its baseUrl", async (_, link) => {
    const http = await serve({ echo: (value: unknown) => value });
    await using client = createClient(link("/rpc", { baseUrl: new URL("/", http.url) }));
    expect(await client.call("echo", ["hi"])).toBe("hi");
  });

  test("of a link that was closed before its first call is never used", async () => {
    const http = await serve({ echo: (value: unknown) => value });
    const client = createClient(httpLink("/rpc", { baseUrl: http.url }));
    await client.close();
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject({ code: "CLOSED" });
  });
});
