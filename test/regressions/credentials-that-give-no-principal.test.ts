import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { authenticate, type Credential } from "callwire/security";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { counted } from "../security/serving.ts";
import { serve } from "../transports/http/wire.ts";

// An Error without a code was taken for a principal without an id, which may call everything.
test.each([
  ["an error without a code", () => new Error("bad")],
  ["later an error without a code", async () => new Error("bad")],
  ["a principal without an id", () => ({ roles: ["operator"] })],
])("a credential that returns %s admits nobody", async (_, verify) => {
  const count = counted();
  const use = [authenticate({ verify } as unknown as Credential)];
  const { url } = await serve(count.methods, {}, { use });
  await using http = createClient(httpLink(url));
  await expect(http.call("who")).rejects.toMatchObject({ code: -32603 });
  await using socket = createClient(webSocketLink(url, { reconnect: false }));
  await expect(socket.call("who")).rejects.toThrow("refused the upgrade with 500");
  expect(count.calls).toBe(0);
});

test("null is not a credential, like undefined", async () => {
  const missing = { verify: () => null } as unknown as Credential;
  const use = [authenticate([missing, { verify: () => ({ id: "ann" }) }])];
  const { url } = await serve(counted().methods, {}, { use });
  await using client = createClient(httpLink(url));
  expect(await client.call("who")).toBe("ann");
});
