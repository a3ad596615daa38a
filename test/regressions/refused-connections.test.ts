import {
  createClient,
  createServer,
  type Handle,
  type Middleware,
  method,
  silentLog,
} from "callwire";
import { type Connection, memoryPair, reconnecting } from "callwire/connection";
import { authenticate, bearer } from "callwire/security";
import { connectSocket, serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { connectWebSocket } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { serve, turn } from "../transports/ws/serving.ts";

const echo = { echo: (value: unknown) => value };
const unauthenticated = { code: -32001, message: "Unauthenticated" };

function guarded(isValid: () => boolean) {
  const use = [authenticate(bearer(() => (isValid() ? { id: "ann" } : undefined)))];
  return createServer(echo, { use, log: silentLog });
}

// It was CLOSED, which does not say that a credential was refused.
describe("a connection that the server refused", () => {
  test("reports so in memory, as on other wires", async () => {
    const [near] = memoryPair(
      undefined,
      guarded(() => true),
    );
    await expect(near.call("echo", ["hi"])).rejects.toMatchObject(unauthenticated);
    await expect(createClient(near).call("echo", ["hi"])).rejects.toMatchObject(unauthenticated);
  });

  test("reports so over TCP, also to a call that is made later", async () => {
    const socket = await serveSocket(
      guarded(() => true),
      { port: 0 },
    );
    onTestFinished(() => socket.close());
    const connection = await connectSocket({ port: socket.port ?? 0 });
    await connection.closed;
    expect(connection.refusal).toMatchObject(unauthenticated);
    await expect(connection.call("echo", ["hi"])).rejects.toMatchObject(unauthenticated);
  });
});

// It was tried ten more times, for 24 s, with a token that the server had refused.
describe("reconnecting after the server refused the credential", () => {
  test("fails at once over WebSocket, and is tried again by the next call", async () => {
    let isValid = true;
    let attempts = 0;
    const clock = new FakeClock();
    const hangUp = method({}, (_, { peer }) => void (peer as Connection).close());
    const use = [authenticate(bearer(() => (isValid ? { id: "ann" } : undefined)))];
    const served = await serve({ ...echo, hangUp }, { server: { use } });
    const headers = { authorization: "Bearer d2hhdCBhIHRva2Vu" };
    const lost = deferred<Error>();
    const failed = deferred<unknown>();
    const link = reconnecting(
      async (signal) => {
        attempts++;
        try {
          return await connectWebSocket(served.url, { headers, signal });
        } catch (error) {
          failed.resolve(error);
          throw error;
        }
      },
      // Its time does not pass: a second attempt would wait forever.
      { clock, onLost: lost.resolve },
    );
    await using client = createClient(link);
    expect(await client.call("echo", ["hi"])).toBe("hi");
    isValid = false;
    await client.call("hangUp").catch(() => {});
    await lost.promise;
    expect(await failed.promise).toMatchObject({ code: "CONNECTION_FAILED", status: 401 });
    await turn();
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject({ status: 401 });
    expect(attempts).toBe(3);
    isValid = true;
    expect(await client.call("echo", ["hi"])).toBe("hi");
  });

  test("fails at once over TCP", async () => {
    let opened = 0;
    const admit: Middleware["admit"] = (next) => (transport) => {
      opened++;
      return next(transport);
    };
    const count: Middleware = Object.assign((next: Handle) => next, { admit });
    const use = [count, authenticate(bearer(() => undefined))];
    const socket = await serveSocket(createServer(echo, { use, log: silentLog }), { port: 0 });
    onTestFinished(() => socket.close());
    const clock = new FakeClock();
    const lost = deferred<Error | undefined>();
    await using client = createClient(
      tcpLink({
        port: socket.port ?? 0,
        reconnect: { clock, onLost: () => lost.resolve(undefined) },
      }),
    );
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject(unauthenticated);
    await lost.promise;
    expect(client.state).toBe("idle");
    // The call proves it: it makes the second connection, and no other was made before.
    await expect(client.call("echo", ["hi"])).rejects.toMatchObject(unauthenticated);
    expect(opened).toBe(2);
  });
});
