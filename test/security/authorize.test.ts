import { createClient, createServer, method, type Principal, silentLog } from "callwire";
import { memoryPair } from "callwire/connection";
import { auditLog, authenticate, authorize, bearer, type Policy } from "callwire/security";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { nameMatcher } from "../../src/security/name-patterns.ts";
import { json, send, serve } from "../transports/http/wire.ts";
import { ann, byToken, counted, request, root, trail } from "./serving.ts";

const unknown = '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}';
const forbidden = '{"jsonrpc":"2.0","error":{"code":-32004,"message":"Forbidden"},"id":1}';

async function ask(port: number, headers: object, method: string): Promise<[number, string]> {
  const { status, text } = await send(port, {
    headers: { ...json, ...headers },
    body: request(method),
  });
  return [status, text];
}

describe("the access rule of a method", () => {
  test("makes it unknown to callers that may not call it", async () => {
    const count = counted();
    const { port } = await serve(count.methods, {}, { use: [authenticate(byToken)] });
    expect(await ask(port, root, "system/reset")).toEqual([
      200,
      '{"jsonrpc":"2.0","result":"reset","id":1}',
    ]);
    expect(await ask(port, ann, "system/reset")).toEqual([200, unknown]);
    expect(await ask(port, ann, "system/none")).toEqual([200, unknown]);
    expect(count.calls).toBe(1);
  });

  test("holds without any middleware", () => {
    const server = createServer(counted().methods, { log: silentLog });
    expect(server.receive(request("system/reset"))).toBe(unknown);
    expect(server.receive(request("system/wipe"))).toBe(unknown);
  });

  test("a stream hidden from a caller answers a GET like an unknown one", async () => {
    const count = counted();
    const { port } = await serve(count.methods, {}, { use: [authenticate(byToken)] });
    const get = async (headers: object, method: string) => {
      const path = `/rpc/stream?method=${encodeURIComponent(method)}`;
      const { status, text } = await send(port, { method: "GET", path, headers: { ...headers } });
      return [status, text];
    };
    expect(await get({}, "system/tail")).toEqual(await get({}, "system/none"));
    expect(await get({}, "system/tail")).toEqual(await get({}, "echo"));
    expect((await get({}, "system/tail"))[0]).toBe(401);
    expect(await get(ann, "system/tail")).toEqual(await get(ann, "system/none"));
    expect(await get(ann, "system/tail")).toEqual(await get(ann, "echo"));
    expect(count.calls).toBe(0);
    expect((await get(root, "system/tail"))[1]).toContain('"line"');
  });

  test("rpc.discover shows what its caller may call", async () => {
    const { port } = await serve(counted().methods, {}, { use: [authenticate(byToken)] });
    const names = async (headers: object) =>
      JSON.parse((await ask(port, headers, "rpc.discover"))[1]).result.methods.map(
        ({ name }: { name: string }) => name,
      );
    expect(await names(ann)).toEqual(["who", "echo", "fail", "system/wipe"]);
    expect(await names(root)).toContain("system/reset");
  });

  test("scopes must all be there, of roles one", () => {
    const server = createServer({
      one: method({ access: { roles: ["a", "b"] } }, () => 1),
      all: method({ access: { scopes: ["x", "y"] } }, () => 1),
      both: method({ access: { roles: ["a"], scopes: ["x"] } }, () => 1),
    });
    const [left, right] = memoryPair(server, undefined);
    const names = (roles: string[], scopes: string[]) => {
      left.origin.principal = { id: "p", roles, scopes };
      return Promise.all(
        ["one", "all", "both"].map((name) =>
          right.call(name).then(
            () => true,
            () => false,
          ),
        ),
      );
    };
    return Promise.all([
      expect(names(["b"], ["x", "y", "z"])).resolves.toEqual([true, true, false]),
    ])
      .then(() => expect(names(["a"], ["x"])).resolves.toEqual([true, false, true]))
      .then(() => expect(names([], [])).resolves.toEqual([false, false, false]));
  });

  test("a string that contains the name of a role or a scope does not count", async () => {
    const { methods } = counted();
    const read = method({ access: { scopes: ["notes:read"] } }, () => 1);
    // As from a program that passes on the claims of a token unchanged.
    const claims = { roles: "cooperator", scopes: "notes:read-own" } as unknown as Principal;
    const use = [authenticate(bearer(() => ({ ...claims, id: "eve" })))];
    const { port } = await serve({ ...methods, read }, {}, { use });
    expect((await ask(port, ann, "system/reset"))[1]).toContain("Method not found");
    expect((await ask(port, ann, "read"))[1]).toContain("Method not found");
  });

  test("what must be called locally is not called through a proxy", async () => {
    const count = counted();
    const http = await serve(count.methods);
    expect((await ask(http.port, {}, "system/wipe"))[1]).toContain("wiped");
    for (const header of [
      "forwarded",
      "via",
      "x-forwarded-for",
      "x-forwarded-proto",
      "x-real-ip",
    ]) {
      expect(await ask(http.port, { [header]: "127.0.0.1" }, "system/wipe")).toEqual([
        200,
        unknown,
      ]);
    }
    await using ws = createClient(
      webSocketLink(http.url, { headers: { "x-forwarded-for": "10.0.0.1" } }),
    );
    await expect(ws.call("system/wipe")).rejects.toMatchObject({ code: -32601 });
    expect(count.calls).toBe(1);
  });
});

describe("a policy", () => {
  const policy: Policy = {
    allow: [
      { methods: "who" },
      { methods: ["echo", "system/**"], principals: "*" },
      { methods: "fail", roles: ["operator"] },
    ],
    deny: [{ methods: "system/wipe", principals: ["ann"] }],
  };
  const use = [authenticate(byToken, { anonymous: true }), authorize(policy)];

  test.each([
    ["anybody", {}, "who", 200],
    ["nobody in particular", {}, "echo", 403],
    ["somebody", ann, "echo", 200],
    ["somebody without the role", ann, "fail", 403],
    ["somebody with the role", root, "fail", 200],
    ["somebody who is denied", ann, "system/wipe", 403],
    ["somebody who is not", root, "system/wipe", 200],
    ["anybody, of what is not named", root, "other", 403],
    ["anybody, of what is not there", ann, "system/none", 200],
  ])("answers %s (%o) who calls %s with %i", async (_, headers, name, status) => {
    const { port } = await serve(counted().methods, {}, { use });
    const [found, text] = await ask(port, headers, name);
    expect(found).toBe(status);
    if (status === 403) expect(text).toBe(forbidden);
  });

  test("says the same of what there is and what there is not", async () => {
    const { port } = await serve(counted().methods, {}, { use });
    expect(await ask(port, {}, "system/wipe")).toEqual(await ask(port, {}, "system/none"));
    expect(await ask(port, ann, "fail")).toEqual(await ask(port, ann, "fail2"));
  });

  test("filters rpc.discover, unless that is denied too", async () => {
    const { port } = await serve(counted().methods, {}, { use });
    const document = JSON.parse((await ask(port, {}, "rpc.discover"))[1]).result;
    expect(document.methods.map(({ name }: { name: string }) => name)).toEqual(["who"]);
    const closed = [authorize({ allow: [], deny: [{ methods: "rpc.*" }] })];
    const other = await serve(counted().methods, {}, { use: closed });
    expect(await ask(other.port, {}, "rpc.discover")).toEqual([403, forbidden]);
  });

  test("applies on TCP and WebSocket, and the audit log has the reason", async () => {
    const { lines, sink } = trail();
    const server = createServer(counted().methods, {
      use: [auditLog(sink), ...use],
      log: silentLog,
    });
    onTestFinished(() => server.close());
    const { port } = await serveSocket(server, { port: 0 });
    await using client = createClient(tcpLink(`tcp://127.0.0.1:${port}`));
    await expect(client.call("echo")).rejects.toMatchObject({ code: -32004 });
    await expect(client.call("system/reset")).rejects.toMatchObject({ code: -32004 });
    const entries = lines.map((line) => JSON.parse(line));
    expect(entries.map(({ event, decision, reason }) => [event, decision, reason])).toEqual([
      ["connection", "allow", undefined],
      ["call", "deny", "the policy does not allow it"],
      ["call", "deny", "the policy does not allow it"],
    ]);
  });
});

test.each([
  ["search/*", "search/web", true],
  ["search/*", "search/web/deep", false],
  ["search/*", "search", false],
  ["search/*", "search/", true],
  ["system/**", "system/a/b/c", true],
  ["system/**", "system", true],
  ["system/**", "systems", false],
  ["**", "anything/at/all", true],
  ["*", "anything", true],
  ["*", "a/b", false],
  ["*/delete", "users/delete", true],
  ["**/delete", "a/b/delete", true],
  ["get*", "getUser", true],
  ["get*User", "getTheUser", true],
  ["get*User", "getTheUsers", false],
  ["a/**/z", "a/z", true],
  ["a/**/z", "a/b/c/z", true],
  ["a/**/z", "a/b/c", false],
  ["exact", "exact", true],
  ["exact", "Exact", false],
])("the pattern %s fits %s: %j", (pattern, name, expected) => {
  const fits = nameMatcher([pattern]);
  expect(fits(name)).toBe(expected);
  expect(fits(name)).toBe(expected);
});

test("no pattern and no name take long", () => {
  const fits = nameMatcher([`${"*a".repeat(20)}b`, `${"**/a/".repeat(20)}b`]);
  expect(fits("a".repeat(20_000))).toBe(false);
  expect(fits("a/".repeat(20_000))).toBe(false);
});

test("the separator of names is an option", () => {
  expect(nameMatcher(["search.*"], ".")("search.web")).toBe(true);
  expect(nameMatcher(["search.*"], ".")("search.web.deep")).toBe(false);
});
