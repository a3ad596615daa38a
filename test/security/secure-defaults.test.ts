import { createServer, silentLog } from "callwire";
import { secureDefaults } from "callwire/security";
import { expect, onTestFinished, test, vi } from "vitest";
import { json, send, serve } from "../transports/http/wire.ts";
import { ann, byToken, counted, request, trail } from "./serving.ts";

test("one line guards a server against all that the issue names", async () => {
  const { lines, sink } = trail();
  const policy = { allow: [{ methods: ["who", "fail"] }] };
  const preset = secureDefaults({
    credentials: byToken,
    policy,
    audit: sink,
    maxLagMs: 60_000,
    perPrincipal: { capacity: 3, perSecond: 0.001 },
  });
  const { port } = await serve(counted().methods, {}, { ...preset, log: silentLog });
  const ask = (headers: object, method: string) =>
    send(port, { headers: { ...json, ...headers }, body: request(method) });
  expect((await ask({}, "who")).status).toBe(401);
  expect((await ask(ann, "who")).text).toContain('"ann"');
  expect((await ask(ann, "echo")).status).toBe(403);
  expect((await ask(ann, "fail")).text).toContain("correlationId");
  await ask(ann, "who");
  expect((await ask(ann, "who")).status).toBe(429);
  expect(lines.map((line) => JSON.parse(line).decision)).toEqual([
    "deny",
    "allow",
    "deny",
    "allow",
    "allow",
    "deny",
  ]);
});

test("decisions go to standard error unless there is a place for them", async () => {
  const lines: string[] = [];
  const write = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(line));
  onTestFinished(() => write.mockRestore());
  const server = createServer({ echo: () => 1 }, secureDefaults({ credentials: byToken }));
  await server.receive(request("echo"));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ method: "echo" }]);
  expect(lines[0]).not.toMatch(/\n$/);
});

test("its separator is that of the policy, unless that has its own", async () => {
  const methods = { "docs.a": () => 1, "docs.a.b": () => 2, delete: () => 3 };
  const statuses = async (options: { readonly separator?: string }) => {
    const policy = {
      allow: [{ methods: ["docs.*", "delete"] }],
      deny: [{ methods: "**.delete" }],
      ...options,
    };
    const audit = trail().sink;
    const preset = secureDefaults({
      credentials: byToken,
      audit,
      separator: ".",
      policy,
      maxLagMs: 60_000,
    });
    const { port } = await serve(methods, {}, { ...preset, log: silentLog });
    const sent = Object.keys(methods).map((method) =>
      send(port, { headers: { ...json, ...ann }, body: request(method) }),
    );
    return (await Promise.all(sent)).map(({ status }) => status);
  };
  expect(await statuses({})).toEqual([200, 403, 403]);
  expect(await statuses({ separator: "/" })).toEqual([200, 200, 200]);
});

test("its guards say what they are", () => {
  const { use } = createServer({}, secureDefaults({ credentials: byToken, policy: { allow: [] } }));
  expect(use.map(({ guards }) => guards)).toEqual([
    "audit log",
    "error hygiene",
    "rate limit",
    "authentication",
    "authorization",
    "rate limit",
  ]);
});
