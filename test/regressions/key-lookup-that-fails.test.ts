import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { authenticate } from "callwire/security";
import { type ApiKeyRecord, apiKeys, createApiKey } from "callwire/security/keys";
import { expect, test } from "vitest";
import { counted } from "../security/serving.ts";
import { serve } from "../transports/http/wire.ts";

test("a lookup of keys that fails after it knew one is asked once, and all that fails is the call", async () => {
  const { key, record } = createApiKey({ id: "ann" });
  const answers: (ApiKeyRecord | Promise<never>)[] = [record, record];
  let asked = 0;
  const lookup = () => {
    asked++;
    return answers.shift() ?? Promise.reject(new Error("the database is down"));
  };
  const { url } = await serve(counted().methods, {}, { use: [authenticate(apiKeys(lookup))] });
  // One connection, whose credentials are remembered.
  const link = httpLink(url, { connections: 1, headers: { "x-api-key": key } });
  await using client = createClient(link);
  expect(await client.call("who")).toBe("ann");
  expect(await client.call("who")).toBe("ann");
  // An unhandled rejection would end the process.
  await expect(client.call("who")).rejects.toMatchObject({ code: -32603 });
  expect(asked).toBe(3);
});
