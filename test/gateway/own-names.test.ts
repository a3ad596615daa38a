import { type Client, createClient, type Id, type Link, method } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { Behind, clientOf, start } from "./behind.ts";

const fronts: [string, (url: string) => Link][] = [
  ["HTTP", (url) => httpLink(url)],
  ["WebSocket", (url) => webSocketLink(url)],
];

const ways = [
  { prefix: "", route: { method: "*", to: "one" } },
  { prefix: "tools/", route: { method: "tools/*", to: "one", rename: "*" } },
  // What the caller writes does not show what the gateway makes of it.
  { prefix: "x", route: { method: "x/*", to: "one", rename: "$*" }, cancel: "x//cancelRequest" },
];

/** A call that waits behind the gateway until it is released, and its id there. */
async function waiting() {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let begin = (_: Id): void => {};
  const begun = new Promise<Id>((resolve) => (begin = resolve));
  const behind = await Behind.start({
    hold: method({}, async (_, call) => {
      begin(call.id as Id);
      await Promise.race([
        released,
        new Promise((_, reject) => {
          call.signal.addEventListener("abort", () => reject(call.signal.reason));
        }),
      ]);
      return "held to the end";
    }),
    who: () => "here",
  });
  return { behind, begun, release };
}

describe.each(fronts)("a caller over %s", (_, linkTo) => {
  test.each(ways)(
    "does not cancel calls of others by the route $route.method",
    async ({ prefix, route, cancel = `${prefix}$/cancelRequest` }) => {
      const { behind, begun, release } = await waiting();
      const plain = { method: "plain/*", to: "one", rename: "*" };
      const gateway = await start({
        upstreams: { one: { targets: { one: () => behind.link() }, healthCheck: false } },
        routes: [route, plain],
      });
      const { url } = await serveHttp(gateway, { port: 0 });
      const clients = [false, false, true].map((batch) => createClient(linkTo(url), { batch }));
      onTestFinished(() => Promise.all(clients.map((client) => client.close())).then(() => {}));
      const [victim, attacker, batching] = clients as [Client, Client, Client];
      const held = victim.call("plain/hold");
      const id = await begun;
      await attacker.notify(cancel, { id });
      await expect(attacker.call(cancel, { id })).rejects.toMatchObject({ code: -32601 });
      await Promise.all([batching.notify(cancel, { id }), batching.call("plain/who")]);
      // It took the same path as the others, so they would have arrived by now.
      expect(await attacker.call("plain/who")).toBe("here");
      release();
      expect(await held).toBe("held to the end");
    },
  );

  test("still cancels its own", async () => {
    const { behind, begun } = await waiting();
    const gateway = await start({
      upstreams: { one: { targets: { one: () => behind.link() } } },
      routes: [{ method: "*", to: "one" }],
    });
    const { url } = await serveHttp(gateway, { port: 0 });
    const client = createClient(linkTo(url));
    onTestFinished(() => client.close());
    const abort = new AbortController();
    const held = client.call("hold", undefined, { signal: abort.signal });
    await begun;
    abort.abort();
    await expect(held).rejects.toMatchObject({ code: "ABORTED" });
    await expect.poll(() => gateway.targets()[0]?.inFlight).toBe(0);
  });
});

test("no rename leads to names of the system, and a description does not bring them in", async () => {
  const behind = await Behind.start({ who: () => "here", "x/$/who": () => "x" });
  const upstreams = { one: { targets: { one: () => behind.link() } } };
  for (const route of [
    { method: "a", rename: "rpc.discover" },
    { method: "a/*", rename: "rpc.*" },
    { method: "a", rename: "$/cancelRequest" },
    { method: "$/*" },
  ]) {
    const refused = start({ upstreams, routes: [{ ...route, to: "one" }] });
    await expect(refused).rejects.toThrow('begin with "rpc." or "$/" are reserved for the gateway');
  }
  const gateway = await start({
    upstreams,
    routes: [
      { method: "tools/*", to: "one", rename: "*" },
      { method: "*", to: "one", rename: "x/*" },
    ],
  });
  const client = clientOf(gateway);
  expect(await client.call("tools/who")).toBe("here");
  for (const name of ["tools/rpc.discover", "tools/$/who", "$/who"]) {
    await expect(client.call(name)).rejects.toMatchObject({ code: -32601 });
  }
  const { methods } = await client.call<{ methods: { name: string }[] }>("rpc.discover");
  expect(methods.map(({ name }) => name)).toEqual(["tools/who", "tools/x/$/who"]);
});

test("a cancellation of MCP is not forwarded, because its id may be that of another call behind the gateway", async () => {
  const heard: unknown[] = [];
  const behind = await Behind.start({
    "notifications/cancelled": (requestId: unknown) => void heard.push(requestId),
    "notifications/initialized": () => void heard.push("initialized"),
    who: () => "here",
  });
  const client = clientOf(
    await start({
      upstreams: { one: { targets: { one: () => behind.link() }, healthCheck: false } },
      routes: [{ method: "*", to: "one" }],
    }),
  );
  await client.notify("notifications/cancelled", { requestId: 1 });
  await client.notify("notifications/initialized");
  // It takes the same path as the others.
  expect(await client.call("who")).toBe("here");
  expect(heard).toEqual(["initialized"]);
});

test.each([
  ["gateway", "stays here", ["another"]],
  ["connection", "goes on", [{ token: 7 }, "another"]],
] as const)(
  "with one connection per %s, what stops the work of a language server by its token %s",
  async (per, _, expected) => {
    const heard: unknown[] = [];
    const behind = await Behind.start({
      "window/workDoneProgress/cancel": method({}, (params) => void heard.push(params)),
      "window/another": () => void heard.push("another"),
      who: () => "here",
    });
    const gateway = await start({
      upstreams: { one: { per, targets: { one: () => behind.link() }, healthCheck: false } },
      routes: [{ method: "*", to: "one" }],
    });
    const { url } = await serveHttp(gateway, { port: 0 });
    await using client = createClient(webSocketLink(url));
    await client.notify("window/workDoneProgress/cancel", { token: 7 });
    await client.notify("window/another");
    // It takes the same path as the others.
    expect(await client.call("who")).toBe("here");
    expect(heard).toEqual(expected);
    await using passing = createClient(httpLink(url));
    await expect(
      passing.call("window/workDoneProgress/cancel", { token: 7 }),
    ).rejects.toMatchObject({ code: -32601 });
  },
);
