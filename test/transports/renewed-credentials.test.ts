import { createClient, type LinkState, method, type Principal, silentLog } from "callwire";
import type { Connection } from "callwire/connection";
import { httpLink } from "callwire/http";
import { authenticate, bearer, ticketProtocols, WebSocketTickets } from "callwire/security";
import { sseLink } from "callwire/sse";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { WebSocket as PlatformWebSocket } from "undici";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { httpLink as fetchLink } from "../../src/transports/http/fetch-link.ts";
import { webSocketLink as nativeLink } from "../../src/transports/ws/native-client.ts";
import { deferred } from "./contract/wire.ts";
import { serve } from "./http/wire.ts";

/** A server that knows one token at a time, and a client whose tokens it renews when they are refused. */
async function setUp() {
  const state = { valid: 1, runs: 0, asked: [] as boolean[] };
  const principal = (token: string): Principal | undefined =>
    token === `token-${state.valid}` ? { id: "ann" } : undefined;
  const run = method({}, () => ++state.runs);
  const hangUp = method({}, (_, { peer }) => void (peer as Connection).close());
  const tickets = new WebSocketTickets();
  const ticket = method({}, (_, call) => tickets.issue(call));
  const use = [authenticate([bearer(principal), tickets])];
  const http = await serve({ run, hangUp, ticket }, {}, { use, log: silentLog });
  let token = 1;
  const credentials = async ({ refused }: { refused: boolean }) => {
    state.asked.push(refused);
    if (refused) token = state.valid;
    return { headers: { authorization: `Bearer token-${token}` } };
  };
  return { url: http.url, state, credentials };
}

describe.each(Object.entries({ httpLink, fetchLink, sseLink }))("%s", (_, link) => {
  test("asks for credentials again if they are refused, and sends the call once more", async () => {
    const { url, state, credentials } = await setUp();
    await using client = createClient<{ run: () => number }>(link(url, { credentials }));
    expect(await client.call("run")).toBe(1);
    state.valid = 2;
    expect(await client.call("run")).toBe(2);
    expect(state.asked).toEqual([false, false, true]);
    state.valid = 3;
    expect(await client.batch((b) => [b.run(), b.run()])).toEqual([3, 4]);
  });

  test("gives up if the new credentials are refused too", async () => {
    const { url, state } = await setUp();
    const credentials = ({ refused }: { refused: boolean }) => {
      state.asked.push(refused);
      return { headers: { authorization: "Bearer old" } };
    };
    await using client = createClient(link(url, { credentials }));
    await expect(client.call("run")).rejects.toMatchObject({ code: -32001 });
    expect(state.asked).toEqual([false, true]);
    expect(state.runs).toBe(0);
  });

  test("adds credentials to other headers", async () => {
    const { url, credentials } = await setUp();
    const headers = { "x-other": "1" };
    await using client = createClient(link(url, { headers, credentials }));
    expect(await client.call("run")).toBe(1);
  });
});

describe("webSocketLink", () => {
  test("asks for headers and protocols for each connection", async () => {
    const { url, credentials } = await setUp();
    const asked: string[] = [];
    const link = webSocketLink(url, {
      headers: async () => {
        asked.push("headers");
        return (await credentials({ refused: false })).headers;
      },
      protocols: () => {
        asked.push("protocols");
        return [];
      },
    });
    await using client = createClient(link, { idempotent: ["run"] });
    await client.call("run");
    await client.call("hangUp").catch(() => {});
    await client.call("run");
    expect(asked).toEqual(["headers", "protocols", "headers", "protocols"]);
  });

  test("renews credentials that are refused when it reconnects", async () => {
    const { url, state, credentials } = await setUp();
    await using client = createClient(webSocketLink(url, { credentials }), { idempotent: ["run"] });
    expect(await client.call("run")).toBe(1);
    state.valid = 2;
    await client.call("hangUp").catch(() => {});
    expect(await client.call("run")).toBe(2);
    expect(state.asked).toEqual([false, false, true]);
  });

  test("renews credentials that expire on an open connection, whose calls continue", async () => {
    const principals: Principal[] = [];
    const finish = deferred<string>();
    const begun = deferred<void>();
    const slow = method({}, () => {
      begun.resolve();
      return finish.promise;
    });
    const verify = () => {
      const principal = { id: "ann", expiresAt: Number.POSITIVE_INFINITY };
      principals.push(principal);
      return principal;
    };
    const http = await serve(
      { slow, run: () => "ran" },
      {},
      { use: [authenticate(bearer(verify))] },
    );
    const headers = { authorization: "Bearer d2hhdCBhIHRva2Vu" };
    await using client = createClient(
      webSocketLink(http.url, { credentials: () => ({ headers }) }),
    );
    const long = client.call("slow");
    await begun.promise;
    Object.assign(principals[0] as Principal, { expiresAt: 0 });
    expect(await client.call("run")).toBe("ran");
    expect(principals).toHaveLength(2);
    finish.resolve("done");
    expect(await long).toBe("done");
  });

  test("gives up if the new credentials are refused too", async () => {
    const { url, state } = await setUp();
    const credentials = ({ refused }: { refused: boolean }) => {
      state.asked.push(refused);
      return { headers: { authorization: "Bearer old" } };
    };
    await using client = createClient(webSocketLink(url, { credentials }));
    await expect(client.call("run")).rejects.toMatchObject({ status: 401 });
    expect(state.asked).toEqual([false, true]);
  });

  test("fails if credentials do not arrive in time", async () => {
    const { url } = await setUp();
    const credentials = () => new Promise<never>(() => {});
    const opened = connectWebSocket(url, { credentials, connectTimeoutMs: 1 });
    await expect(opened).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });

  test("of a page gets a ticket for each connection, so that it can reconnect", async () => {
    vi.stubGlobal("WebSocket", PlatformWebSocket);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { url, credentials } = await setUp();
    await using http = createClient(httpLink(url, { credentials }));
    const protocols = async () => ticketProtocols(String(await http.call("ticket")));
    await using client = createClient(nativeLink(url, { protocols }), { idempotent: ["run"] });
    expect(await client.call("run")).toBe(1);
    await client.call("hangUp").catch(() => {});
    expect(await client.call("run")).toBe(2);
  });
});

describe("the state of a client", () => {
  test("is undefined over HTTP, which has no connection", async () => {
    await using client = createClient(httpLink("http://127.0.0.1:1/rpc"));
    expect(client.state).toBeUndefined();
    client.onState(() => {})();
  });

  test.each([false, true])("follows the connection (batching: %s)", async (batch) => {
    const { url, credentials } = await setUp();
    const client = createClient(webSocketLink(url, { credentials }), {
      batch,
      idempotent: ["run"],
    });
    const states: LinkState[] = [];
    const stop = client.onState((state) => states.push(state));
    const others: LinkState[] = [];
    const leave = client.onState((state) => others.push(state));
    expect(client.state).toBe("idle");
    await client.call("run");
    expect(client.state).toBe("open");
    leave();
    await client.call("hangUp").catch(() => {});
    await client.call("run");
    await client.close();
    expect(client.state).toBe("closed");
    expect(states).toEqual(["connecting", "open", "reconnecting", "open", "closed"]);
    expect(others).toEqual(["connecting", "open"]);
    stop();
  });

  test("is idle again after the server refused the connection", async () => {
    const { url } = await setUp();
    await using client = createClient(webSocketLink(url));
    const states: LinkState[] = [];
    client.onState((state) => states.push(state));
    await expect(client.call("run")).rejects.toMatchObject({ status: 401 });
    expect(states).toEqual(["connecting", "idle"]);
  });
});
