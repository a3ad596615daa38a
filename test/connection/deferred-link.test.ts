import { createClient, type Link, WireError } from "callwire";
import { expect, test } from "vitest";
import { DeferredLink } from "../../src/connection/deferred-link.ts";
import { HandLink, parrot } from "../client/hand-link.ts";

interface Loading {
  readonly resolve: (link: Link) => void;
  readonly reject: (error: unknown) => void;
}

/** A link that the test loads. */
function deferred() {
  const loads: Loading[] = [];
  const link = new DeferredLink(
    () => new Promise((resolve, reject) => loads.push({ resolve, reject })),
  );
  return { client: createClient<Record<"one" | "two", () => unknown>>(link), loads };
}

test("a link is loaded once, with its first calls", async () => {
  const { client, loads } = deferred();
  expect(loads).toHaveLength(0);
  const calls = [client.call("one"), client.call("two")];
  expect(client.state).toBe("connecting");
  expect(loads).toHaveLength(1);
  loads[0]?.resolve(new HandLink(parrot));
  expect(await Promise.all(calls)).toEqual([
    ["one", null],
    ["two", null],
  ]);
  expect(await client.call<unknown>("three")).toEqual(["three", null]);
  expect(loads).toHaveLength(1);
});

test("a batch made before the link is loaded is one payload, and calls cancelled by then are not sent", async () => {
  const { client, loads } = deferred();
  const gone = new AbortController();
  const batch = client.batch((b) => [b.one(), b.two()]);
  const call = client.call<unknown>("three", [], { signal: gone.signal });
  gone.abort();
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  const link = new HandLink(parrot);
  loads[0]?.resolve(link);
  expect(await batch).toEqual([
    ["one", null],
    ["two", null],
  ]);
  expect(link.payloads).toHaveLength(1);
  expect(link.methods).toEqual(["one", "two"]);
});

test("code that cannot be loaded fails the calls, and is loaded again for the next", async () => {
  const { client, loads } = deferred();
  const call = client.call("one");
  loads[0]?.reject(new WireError("CONNECTION_FAILED", "offline"));
  await expect(call).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  expect(client.state).toBe("idle");
  const next = client.call("two");
  loads[1]?.resolve(new HandLink(parrot));
  expect(await next).toEqual(["two", null]);
});

test("closing while the link is loaded fails its calls and closes what was loaded", async () => {
  const { client, loads } = deferred();
  const call = client.call("one");
  const closed = client.close();
  const link = new HandLink(parrot);
  loads[0]?.resolve(link);
  await expect(call).rejects.toMatchObject({ code: "CLOSED" });
  await closed;
  expect(link.methods).toEqual([]);
  expect(link.closed).toBe(1);
  await expect(client.call("two")).rejects.toMatchObject({ code: "CLOSED" });
  expect(client.state).toBe("closed");
});
