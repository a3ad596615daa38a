import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  createClient,
  createServer,
  method,
  type Principal,
  silentLog,
  type Transport,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import {
  authenticate,
  bearer,
  type Credential,
  environmentToken,
  equalSecrets,
  mutualTls,
  ticketProtocols,
  trustedProcess,
  WebSocketTickets,
} from "callwire/security";
import { jwt } from "callwire/security/jwt";
import { apiKeys, createApiKey } from "callwire/security/keys";
import { serveStdio } from "callwire/stdio";
import { serveSocket, tcpLink, unixLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { json, send, serve } from "../transports/http/wire.ts";
import { RawSocket } from "../transports/tcp/raw-socket.ts";
import { ann, byToken, counted, people, request, type Use } from "./serving.ts";

const refusal = (id: string) =>
  `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Unauthenticated"},"id":${id}}`;

const invalidToken = 'Bearer realm="callwire", error="invalid_token"';

function serverOf(use: Use) {
  const count = counted();
  const server = createServer(count.methods, { use, log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, count };
}

describe("over HTTP", () => {
  test("a token identifies the caller", async () => {
    const { port } = await serve(counted().methods, {}, { use: [authenticate(byToken)] });
    const { status, text } = await send(port, {
      headers: { ...json, ...ann },
      body: request("who"),
    });
    expect([status, text]).toEqual([200, '{"jsonrpc":"2.0","result":"ann","id":1}']);
  });

  test.each([
    ["no credential", {}, 'Bearer realm="callwire"'],
    ["a bad token", { authorization: "Bearer nonsense" }, invalidToken],
    ["a token with a space", { authorization: "Bearer a b" }, invalidToken],
    ["a token without end", { authorization: `Bearer ${"a".repeat(9000)}` }, invalidToken],
    ["another scheme", { authorization: "Basic YTpi" }, 'Bearer realm="callwire"'],
  ])("%s is answered with 401, and no handler runs", async (_, headers, challenge) => {
    const count = counted();
    const { port } = await serve(count.methods, {}, { use: [authenticate(byToken)] });
    for (const method of ["who", "system/reset", "there/is/none"]) {
      const answer = await send(port, { headers: { ...json, ...headers }, body: request(method) });
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toBe(challenge);
      expect(answer.text).toBe(refusal("1"));
    }
    expect(count.calls).toBe(0);
  });

  test("it is decided once for a request, however long its batch is", async () => {
    let asked = 0;
    const counting = bearer(async (token) => {
      asked++;
      return people[token];
    });
    const { port } = await serve(counted().methods, {}, { use: [authenticate(counting)] });
    const body = `[${[1, 2, 3].map((id) => request("who", [], id)).join(",")}]`;
    const good = await send(port, { headers: { ...json, ...ann }, body });
    expect(good.text).toBe(
      `[${[1, 2, 3].map((id) => `{"jsonrpc":"2.0","result":"ann","id":${id}}`).join(",")}]`,
    );
    expect(asked).toBe(1);
    const bad = await send(port, { headers: { ...json, authorization: "Bearer x" }, body });
    expect(bad.text).toBe(`[${["1", "2", "3"].map(refusal).join(",")}]`);
    expect(asked).toBe(2);
  });

  test("a batch whose calls are all refused has their status", async () => {
    const use = [authenticate(byToken, { anonymous: ["echo"] })];
    const { port, url } = await serve(counted().methods, {}, { use });
    const calls = [1, 2].map((id) => request("who", [], id));
    const refused = await send(port, { body: `[${calls.join(",")}]` });
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toBe('Bearer realm="callwire"');
    expect(refused.text).toBe(`[${["1", "2"].map(refusal).join(",")}]`);
    const mixed = await send(port, { body: `[${calls.join(",")},${request("echo", ["hi"], 3)}]` });
    expect(mixed.status).toBe(200);
    expect(mixed.headers["www-authenticate"]).toBeUndefined();
    await using client = createClient<{ who(): string }>(httpLink(url));
    const outcomes = await client.batchSettled((b) => [b.who(), b.who()]);
    const said = { status: "rejected", reason: { code: -32001, message: "Unauthenticated" } };
    expect(outcomes).toMatchObject([said, said]);
  });

  test("an anonymous method needs no credential, but a bad one is refused", async () => {
    const use = [authenticate(byToken, { anonymous: ["echo", "public/*"] })];
    const { port } = await serve(counted().methods, {}, { use });
    const echo = request("echo", ["hi"]);
    expect((await send(port, { body: echo })).text).toContain('"result":"hi"');
    expect((await send(port, { body: request("who") })).status).toBe(401);
    const bad = { ...json, authorization: "Bearer x" };
    expect((await send(port, { headers: bad, body: echo })).status).toBe(401);
  });

  test("rpc.discover shows an anonymous caller what is anonymous", async () => {
    const use = [authenticate(byToken, { anonymous: ["echo", "rpc.discover"] })];
    const { port } = await serve(counted().methods, {}, { use });
    const names = async (headers: object) => {
      const body = request("rpc.discover");
      const { text } = await send(port, { headers: { ...json, ...headers }, body });
      return JSON.parse(text).result.methods.map(({ name }: { name: string }) => name);
    };
    expect(await names({})).toEqual(["echo"]);
    // This caller is on the same machine, so it may know of system/wipe.
    expect(await names(ann)).toEqual(["who", "echo", "fail", "system/wipe"]);
  });

  test("a verifier that fails admits no caller and reveals nothing", async () => {
    const broken = bearer(() => {
      throw new Error("postgres://user:secret@db is down");
    });
    const { port } = await serve(counted().methods, {}, { use: [authenticate(broken)] });
    const { text } = await send(port, { headers: { ...json, ...ann }, body: request("who") });
    expect(text).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1}',
    );
  });

  test("the first credential that is present decides", async () => {
    const custom: Credential = {
      challenge: "Custom",
      verify: async ({ headers }: Transport) =>
        headers["x-who"] === undefined ? undefined : { id: `${headers["x-who"]}` },
    };
    const { port } = await serve(counted().methods, {}, { use: [authenticate([custom, byToken])] });
    const both = { ...json, ...ann, "x-who": "eve" };
    expect((await send(port, { headers: both, body: request("who") })).text).toContain('"eve"');
    expect(
      (await send(port, { headers: { ...json, ...ann }, body: request("who") })).text,
    ).toContain('"ann"');
    const none = await send(port, { body: request("who") });
    expect(none.headers["www-authenticate"]).toBe(
      'Custom realm="callwire", Bearer realm="callwire"',
    );
    const bad = { ...json, authorization: "Bearer nonsense" };
    const refused = await send(port, { headers: bad, body: request("who") });
    expect(refused.headers["www-authenticate"]).toBe(`Custom realm="callwire", ${invalidToken}`);
  });

  test.each([
    ["Bearer", 'Bearer realm="callwire", error="x"'],
    ['Bearer scope="a"', 'Bearer realm="callwire", scope="a", error="x"'],
    ['Bearer realm="own"', 'Bearer realm="own", error="x"'],
    [undefined, 'Bearer realm="callwire", error="x", ClientCertificate realm="callwire"'],
  ])("a credential with the challenge %s says what is wrong beside it", async (own, told) => {
    const headers = { "www-authenticate": 'Bearer error="x"' };
    const custom: Credential = {
      ...(own === undefined ? undefined : { challenge: own }),
      verify: () => ({ code: -32001, message: "Unauthenticated", headers }),
    };
    const { port } = await serve(counted().methods, {}, { use: [authenticate(custom)] });
    const answer = await send(port, { body: request("who") });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toBe(told);
  });

  test("a caller refused for another reason than the credential is not asked for another", async () => {
    const headers = { "retry-after": "3" };
    const busy: Credential = {
      challenge: "Custom",
      verify: () => ({ code: -32005, message: "Server busy", status: 503, headers }),
    };
    const { port } = await serve(counted().methods, {}, { use: [authenticate(busy)] });
    const answer = await send(port, { body: request("who") });
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("3");
    expect(answer.headers["www-authenticate"]).toBeUndefined();
  });
});

describe("over WebSocket", () => {
  test("it is decided before the upgrade", async () => {
    const count = counted();
    const http = await serve(count.methods, {}, { use: [authenticate(byToken)] });
    await using client = createClient(webSocketLink(http.url, { headers: ann }));
    expect(await client.call("who")).toBe("ann");
    const socket = new WebSocket(http.url.replace("http", "ws"));
    socket.on("error", () => {});
    const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      socket.once("unexpected-response", (_, answer) => resolve(answer)),
    );
    expect(response.statusCode).toBe(401);
    expect(response.headers["www-authenticate"]).toBe('Bearer realm="callwire"');
    expect(response.headers["content-type"]).toBe("application/json");
    let body = "";
    for await (const chunk of response) body += chunk;
    expect(body).toBe(refusal("null"));
    expect(count.calls).toBe(1);
  });

  test("with anonymous methods, each call is checked separately", async () => {
    const use = [authenticate(byToken, { anonymous: ["echo"] })];
    const http = await serve(counted().methods, {}, { use });
    await using client = createClient(webSocketLink(http.url));
    expect(await client.call("echo", [1])).toBe(1);
    await expect(client.call("who")).rejects.toMatchObject({ code: -32001 });
  });

  test("a principal from verify needs no other credential", async () => {
    const webSocket = { verify: () => ({ principal: { id: "by-hand" } }) };
    const http = await serve(counted().methods, { webSocket }, { use: [authenticate(byToken)] });
    await using client = createClient(webSocketLink(http.url));
    expect(await client.call("who")).toBe("by-hand");
  });

  test.each(["a token", "an API key"])(
    "%s that expires is invalid from then on, even on an open connection",
    async (kind) => {
      const { privateKey, publicKey } = await generateKeyPair("ES256");
      const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] };
      const [issuer, audience] = ["https://issuer.example", "https://api.example"];
      const end = Date.now() + 300_000;
      const token = await new SignJWT({ iss: issuer, aud: audience, sub: "ann", exp: end / 1000 })
        .setProtectedHeader({ alg: "ES256" })
        .sign(privateKey);
      const { key, record } = createApiKey({ id: "ann", notAfter: new Date(end) });
      const use = [
        authenticate([bearer(jwt({ issuer, audience, keys, skewMs: 0 })), apiKeys([record])]),
      ];
      const http = await serve(counted().methods, {}, { use });
      const headers: Record<string, string> =
        kind === "a token" ? { authorization: `Bearer ${token}` } : { "x-api-key": key };
      // The clock jumps, and a call that spans the jump must not seem to have waited that long.
      const timeoutMs = Number.POSITIVE_INFINITY;
      await using client = createClient(webSocketLink(http.url, { headers }), { timeoutMs });
      expect(await client.call("who")).toBe("ann");
      vi.useFakeTimers({ toFake: ["Date"], now: end });
      onTestFinished(() => void vi.useRealTimers());
      await expect(client.call("who")).rejects.toMatchObject({ code: -32001 });
    },
  );

  test("a principal that expires is anonymous from then on", async () => {
    const soon: Principal = { id: "brief", expiresAt: Date.now() + 3_600_000 };
    const past: Principal = { id: "late", expiresAt: 1 };
    const tokens = bearer((token) => (token === "soon" ? soon : past));
    const http = await serve(counted().methods, {}, { use: [authenticate(tokens)] });
    await using valid = createClient(
      webSocketLink(http.url, { headers: { authorization: "Bearer soon" } }),
    );
    expect(await valid.call("who")).toBe("brief");
    await using late = createClient(
      webSocketLink(http.url, { headers: { authorization: "Bearer past" } }),
    );
    await expect(late.call("who")).rejects.toMatchObject({ code: -32001 });
  });
});

describe("tickets of pages", () => {
  test("open one WebSocket each, within their time", async () => {
    const clock = new FakeClock();
    const tickets = new WebSocketTickets({ clock });
    const use = [authenticate([byToken, tickets])];
    const issue = method({}, (_, call) => tickets.issue(call));
    const http = await serve({ ...counted().methods, ticket: issue }, {}, { use });
    const asked = await send(http.port, { headers: { ...json, ...ann }, body: request("ticket") });
    const ticket = JSON.parse(asked.text).result;
    const anonymous = await send(http.port, { body: request("ticket") });
    expect(anonymous.status).toBe(401);
    expect(ticket).toMatch(/^[\w-]{43}$/);
    const connection = await connectWebSocket(http.url, { protocols: ticketProtocols(ticket) });
    expect(await connection.call("who")).toBe("ann");
    await connection.close();
    const again = connectWebSocket(http.url, { protocols: ticketProtocols(ticket) });
    await expect(again).rejects.toMatchObject({ status: 401 });
    const late = tickets.issue({ principal: people["token-of-ann"] });
    clock.advance(30_000);
    const tooLate = connectWebSocket(http.url, { protocols: ticketProtocols(late) });
    await expect(tooLate).rejects.toMatchObject({ status: 401 });
  });

  test("the ticket is not in the response", async () => {
    const tickets = new WebSocketTickets();
    const http = await serve(counted().methods, {}, { use: [authenticate(tickets)] });
    const ticket = tickets.issue({ principal: { id: "ann" } });
    const socket = new WebSocket(http.url.replace("http", "ws"), ticketProtocols(ticket));
    onTestFinished(() => socket.terminate());
    await new Promise((resolve) => socket.once("open", resolve));
    expect(socket.protocol).toBe("callwire");
  });

  test("are not valid on other wires, for anonymous callers, and beyond their limit", async () => {
    const tickets = new WebSocketTickets({ maxTickets: 3, maxPerPrincipal: 2 });
    const headers = { "sec-websocket-protocol": `callwire.ticket.${tickets.issue(who("ann"))}` };
    const transport = { headers, remoteAddress: undefined };
    expect(tickets.verify({ kind: "http", ...transport })).toBeUndefined();
    expect(tickets.verify({ kind: "websocket", ...transport })).toEqual({ id: "ann" });
    expect(() => tickets.issue({ principal: undefined })).toThrow("Unauthenticated");
    tickets.issue(who("ann"));
    tickets.issue(who("ann"));
    expect(() => tickets.issue(who("ann"))).toThrow("Server busy");
    tickets.issue(who("bob"));
    expect(() => tickets.issue(who("eve"))).toThrow("Server busy");
  });

  test("make room when they expire", () => {
    const clock = new FakeClock();
    const tickets = new WebSocketTickets({ clock, validMs: 1_000, maxPerPrincipal: 1 });
    tickets.issue(who("ann"));
    clock.advance(999);
    expect(() => tickets.issue(who("ann"))).toThrow("Server busy");
    clock.advance(1);
    tickets.issue(who("ann"));
    expect(() => tickets.issue(who("ann"))).toThrow("Server busy");
  });

  const who = (id: string) => ({ principal: { id } });
});

describe("mutual TLS", () => {
  const fixture = (name: string): string =>
    readFileSync(new URL(`../fixtures/tls/test-only-${name}.pem`, import.meta.url), "utf8");
  const cert = fixture("cert");
  const key = fixture("key");
  const asked = { cert, key, requestCert: true, ca: fixture("client-ca") };
  const planner = {
    ca: cert,
    cert: fixture("client-planner-cert"),
    key: fixture("client-planner-key"),
  };

  test("names the caller on HTTPS, WSS and TLS sockets by the certificate's names", async () => {
    const { server } = serverOf([authenticate(mutualTls())]);
    const http = await serveHttp(server, { port: 0, tls: asked });
    const tls = await serveSocket(server, { port: 0, tls: asked });
    expect(await post(http.port, planner)).toEqual([
      200,
      '{"jsonrpc":"2.0","result":"spiffe://mesh/planner","id":1}',
    ]);
    await using ws = createClient(
      webSocketLink(http.url.replace("https://127.0.0.1", "wss://localhost"), { tls: planner }),
    );
    expect(await ws.call("who")).toBe("spiffe://mesh/planner");
    await using tcp = createClient(tcpLink(`tls://localhost:${tls.port}`, { tls: planner }));
    expect(await tcp.call("who")).toBe("spiffe://mesh/planner");
  });

  test("a certificate that is not verified does not count", async () => {
    const lax = { ...asked, rejectUnauthorized: false };
    const { server, count } = serverOf([authenticate(mutualTls())]);
    const http = await serveHttp(server, { port: 0, tls: lax });
    const tls = await serveSocket(server, { port: 0, tls: lax });
    const selfSigned = { ca: cert, cert, key };
    expect(await post(http.port, selfSigned)).toEqual([401, refusal("1")]);
    expect(await post(http.port, { ca: cert })).toEqual([401, refusal("1")]);
    await using client = createClient(tcpLink(`tls://localhost:${tls.port}`, { tls: selfSigned }));
    await expect(client.call("who")).rejects.toMatchObject({ code: -32001 });
    expect(count.calls).toBe(0);
  });

  test("one without a name is refused", async () => {
    const { server } = serverOf([authenticate(mutualTls({ principalOf: () => undefined }))]);
    const http = await serveHttp(server, { port: 0, tls: asked });
    expect(await post(http.port, planner)).toEqual([401, refusal("1")]);
    const certificate = { subjectAltNames: ["IP Address:127.0.0.1"] } as never;
    const transport = { kind: "http", headers: {}, remoteAddress: undefined, certificate };
    expect(await mutualTls().verify(transport)).toMatchObject({ code: -32001 });
  });

  function post(port: number, tls: object): Promise<[status: number | undefined, text: string]> {
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        {
          port,
          path: "/rpc",
          method: "POST",
          headers: { ...json, host: "localhost" },
          agent: false,
          ...tls,
        },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => resolve([response.statusCode, text]));
        },
      );
      outgoing.on("error", reject);
      outgoing.end(request("who"));
    });
  }
});

describe("sockets and pipes", () => {
  const folder = mkdtempSync(join(tmpdir(), "callwire-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("all calls of a refused connection fail with the refusal, not as lost", async () => {
    const server = createServer(counted().methods, {
      log: silentLog,
      use: [authenticate(byToken)],
    });
    const { port } = await serveSocket(server, { port: 0 });
    await using client = createClient(tcpLink({ port }));
    const together = [client.call("who"), client.call("who"), client.call("who")];
    const again = together[0]?.catch(() => client.call("who"));
    for (const call of [...together, again]) {
      await expect(call).rejects.toMatchObject({ name: "RpcError", code: -32001 });
    }
    await server.close();
  });

  test("a TCP peer without a credential gets an error and is disconnected", async () => {
    const { server, count } = serverOf([authenticate([trustedProcess(), byToken])]);
    const { port = 0 } = await serveSocket(server, { port: 0 });
    const raw = new RawSocket({ port }).send(`${request("who")}\n`);
    expect(await raw.closed).toBe(`${refusal("null")}\n`);
    expect(count.calls).toBe(0);
  });

  test("also if that takes time, without losing calls of admitted callers", async () => {
    let decide: (principal: Principal | undefined) => void = () => {};
    const slow: Credential = {
      verify: () =>
        new Promise((resolve) => {
          decide = resolve;
        }),
    };
    const { server, count } = serverOf([authenticate(slow)]);
    const { port = 0 } = await serveSocket(server, { port: 0 });
    const good = new RawSocket({ port }).send(`${request("who")}\n`);
    await new Promise((resolve) => good.socket.once("connect", resolve));
    await expect.poll(() => decide.length).toBe(1);
    decide({ id: "late" });
    expect(await good.lines(1)).toEqual(['{"jsonrpc":"2.0","result":"late","id":1}']);
    const bad = new RawSocket({ port }).send(`${request("who")}\n`);
    const before = decide;
    await expect.poll(() => decide).not.toBe(before);
    decide(undefined);
    expect(await bad.closed).toBe(`${refusal("null")}\n`);
    expect(count.calls).toBe(1);
  });

  test("a unix socket trusts the process that may open it", async () => {
    const path = join(folder, "trusted");
    const { server } = serverOf([authenticate(trustedProcess({ principal: { id: "me" } }))]);
    await serveSocket(server, { path });
    await using client = createClient(unixLink(path));
    expect(await client.call("who")).toBe("me");
  });

  test("stdio takes a token from the environment, and answers calls that arrived before it was verified", async () => {
    const verify = async (token: string) => people[token];
    const use = [authenticate(environmentToken("CALLWIRE_TEST_TOKEN", verify))];
    expect(await overStdio(use)).toBe(`${refusal("null")}\n`);
    process.env["CALLWIRE_TEST_TOKEN"] = "token-of-ann";
    onTestFinished(() => void delete process.env["CALLWIRE_TEST_TOKEN"]);
    expect(await overStdio(use)).toBe('{"jsonrpc":"2.0","result":"ann","id":1}\n');
    process.env["CALLWIRE_TEST_TOKEN"] = "stolen";
    expect(await overStdio(use)).toBe(`${refusal("null")}\n`);
  });

  test("stdio trusts the process that started it", async () => {
    expect(await overStdio([authenticate(trustedProcess())])).toContain('"result":"process"');
  });

  async function overStdio(use: Use): Promise<string> {
    const { server } = serverOf(use);
    const input = new PassThrough();
    const output = new PassThrough();
    let text = "";
    output.on("data", (chunk) => {
      text += chunk;
    });
    input.end(`${request("who")}\n`);
    await serveStdio(server, { input, output }).closed;
    return text;
  }
});

test("a custom wire is anonymous, and nothing is kept about its callers", async () => {
  const once: Credential = { verify: () => (first-- > 0 ? { id: "first" } : undefined) };
  let first = 1;
  const { server } = serverOf([authenticate(once)]);
  expect(server.receive(request("who"))).toContain('"first"');
  expect(server.receive(request("who"))).toBe(refusal("1"));
});

test.each([
  ["", "", true],
  ["a", "", false],
  ["", "a", false],
  ["abc", "abc", true],
  ["abc", "abd", false],
  ["abc", "abcabc", false],
  ["abcabc", "abc", false],
  ["ü", "ü", true],
])("the secrets %j and %j are equal: %j", (a, b, expected) => {
  expect(equalSecrets(a, b)).toBe(expected);
});
