/**
 * A connection's credentials are remembered; that must not admit a caller that a new connection
 * would not.
 */
import { Agent, request as httpRequest } from "node:http";
import { silentLog } from "callwire";
import { authenticate } from "callwire/security";
import { type ApiKeyRecord, apiKeys, createApiKey } from "callwire/security/keys";
import { expect, onTestFinished, test } from "vitest";
import { json, serve } from "../transports/http/wire.ts";
import { counted, request } from "./serving.ts";

test("a key is checked again when it changes, is revoked, replaced or expires", async () => {
  const ann = createApiKey({ id: "ann" });
  const bob = createApiKey({ id: "bob" });
  const records = new Map<string, ApiKeyRecord>([
    ["ann", ann.record],
    ["bob", bob.record],
  ]);
  const use = [authenticate(apiKeys((id) => records.get(id)))];
  const { port } = await serve(counted().methods, {}, { use, log: silentLog });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const sockets = new Set<unknown>();
  const ask = (key: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = { ...json, "x-api-key": key };
      const outgoing = httpRequest(
        { port, host: "127.0.0.1", path: "/rpc", method: "POST", headers, agent },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => resolve(JSON.parse(text).result ?? response.statusCode));
        },
      );
      outgoing.on("socket", (socket) => sockets.add(socket));
      outgoing.on("error", reject);
      outgoing.end(request("who"));
    });
  expect(await ask(ann.key)).toBe("ann");
  expect(await ask(ann.key)).toBe("ann");
  expect(await ask(`ann.${"x".repeat(43)}`)).toBe(401);
  expect(await ask(`${ann.key.slice(0, -1)}${ann.key.endsWith("A") ? "E" : "A"}`)).toBe(401);
  expect(await ask(bob.key)).toBe("bob");
  expect(await ask(ann.key)).toBe("ann");
  records.set("ann", createApiKey({ id: "ann" }).record);
  expect(await ask(ann.key)).toBe(401);
  records.set("ann", ann.record);
  expect(await ask(ann.key)).toBe("ann");
  records.delete("ann");
  expect(await ask(ann.key)).toBe(401);
  records.set("ann", { ...ann.record, notAfter: "2020-01-01" });
  expect(await ask(ann.key)).toBe(401);
  expect(sockets.size).toBe(1);
});
