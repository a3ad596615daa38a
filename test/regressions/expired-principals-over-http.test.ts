import { authenticate, bearer } from "callwire/security";
import { expect, test } from "vitest";
import { ann, counted, request } from "../security/serving.ts";
import { json, send, serve } from "../transports/http/wire.ts";

test.each([
  ["at once", () => ({ id: "ann", expiresAt: 1 })],
  ["later", async () => ({ id: "ann", expiresAt: 1 })],
])("a principal that has expired calls nothing, where that is known %s", async (_, verify) => {
  const count = counted();
  const { port } = await serve(count.methods, {}, { use: [authenticate(bearer(verify))] });
  const ask = (body: string) => send(port, { headers: { ...json, ...ann }, body });
  expect((await ask(request("who"))).status).toBe(401);
  expect((await ask(`[${request("who")},${request("who", [], 2)}]`)).status).toBe(401);
  expect(count.calls).toBe(0);
});
