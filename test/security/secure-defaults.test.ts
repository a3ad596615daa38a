import { createServer, silentLog } from "callwire";
import { secureDefaults } from "callwire/security";
import { expect, test } from "vitest";
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

test("its guards say what they are", () => {
  const { use } = createServer({}, secureDefaults({ credentials: byToken, policy: { allow: [] } }));
  expect(use.map(({ guards }) => guards)).toEqual([
    "audit log",
    "error hygiene",
    "load shedding",
    "rate limit",
    "authentication",
    "authorization",
    "rate limit",
  ]);
});
