import { connect } from "node:net";
import { createClient, createServer, type Link, type Methods, silentLog, stream } from "callwire";
import { newlineFraming } from "callwire/framing";
import { serveHttp } from "callwire/http/node";
import {
  createSigningKey,
  memoryNonces,
  type SealMaker,
  type SignedMessagesOptions,
  signedMessages,
} from "callwire/security/signing";
import { stdioLink } from "callwire/stdio";
import { connectSocket, serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { ownPort } from "../../own-port.ts";
import { bundle } from "../../transports/bundle.ts";
import { deferred } from "../../transports/contract/wire.ts";
import { rawStream } from "../../transports/contract.ts";
import { turn } from "../../transports/contract-methods.ts";
import { whoami } from "../whoami.ts";
import { type Direction, lineProxy } from "./line-proxy.ts";

const client = createSigningKey("hmac-sha256", "client-1");
const host = createSigningKey("ed25519", "server-1");
const principal = { id: "bob" };

const clientSeal = (more: SignedMessagesOptions = {}): SealMaker =>
  signedMessages({ key: client.signer, keys: [host.verifier], ...more });
const hostSeal = (more: SignedMessagesOptions = {}): SealMaker =>
  signedMessages({ key: host.signer, keys: [{ ...client.verifier, principal }], ...more });

const program = bundle(new URL("./fixtures/signed-child.ts", import.meta.url));

async function serveTcp(seal: SealMaker = hostSeal(), more: Methods = {}) {
  const { methods, ran } = whoami();
  const server = createServer({ ...methods, ...more }, { seal, log: silentLog });
  const socket = await serveSocket(server, { port: 0 });
  const port = socket.port as number;
  return { ran, server, port, [Symbol.asyncDispose]: () => server.close() };
}

describe("signed messages", () => {
  async function check(link: Link): Promise<void> {
    const api = createClient<ReturnType<typeof whoami>["methods"]>(link);
    expect(await api.call("whoami")).toBe("bob");
    expect(await api.call("transfer", { text: "žluť 🐎 \u2028" })).toEqual({
      text: "žluť 🐎 \u2028",
    });
    expect(await api.batch((all) => [all.whoami(), all.whoami()])).toEqual(["bob", "bob"]);
    await expect(api.call("nothing" as "whoami")).rejects.toMatchObject({ code: -32601 });
    await api.close();
  }

  test("travel over TCP", async () => {
    await using served = await serveTcp();
    await check(tcpLink({ port: served.port, seal: clientSeal() }));
  });

  test("travel over WebSocket", async () => {
    const server = createServer(whoami().methods, { seal: hostSeal() });
    const http = await serveHttp(server, { port: 0 });
    await check(webSocketLink(http.url, { seal: clientSeal() }));
    await server.close();
  });

  test("that a stopping server has not read go to the next one if they are idempotent", async () => {
    const port = await ownPort();
    const asked = deferred();
    const lost = deferred();
    const keys = async (): Promise<undefined> => {
      asked.resolve();
      await lost.promise;
    };
    const first = createServer(whoami().methods, { seal: hostSeal({ keys }), log: silentLog });
    await serveSocket(first, { port });
    const reconnect = { attempts: 1_000, delayMs: 1, maxDelayMs: 10, onLost: () => lost.resolve() };
    await using api = createClient(tcpLink({ port, seal: clientSeal(), reconnect }));
    const call = api.call("whoami", undefined, { idempotent: true });
    await asked.promise;
    await first.close();
    const second = createServer(whoami().methods, { seal: hostSeal() });
    await serveSocket(second, { port });
    expect(await call).toBe("bob");
    await second.close();
  });

  test("travel over stdio", async () => {
    const keys = { key: host.signer, keys: [{ ...client.verifier, principal }] };
    const env = { KEYS: JSON.stringify(keys) };
    await check(stdioLink(process.execPath, [program], { seal: clientSeal(), env }));
  });

  test("carry streams, many calls at a time, and calls back", async () => {
    const count = stream({}, async function* () {
      for (let i = 0; i < 500; i++) yield i;
    });
    await using served = await serveTcp(hostSeal(), { count });
    const own = createServer({ ping: () => "pong" });
    const connection = await connectSocket({
      port: served.port,
      seal: clientSeal(),
      service: own,
    });
    const api = createClient<{ count: typeof count; whoami: () => string }>(connection);
    const items: unknown[] = [];
    for await (const item of api.stream("count")) items.push(item);
    expect(items).toEqual(Array.from({ length: 500 }, (_, i) => i));
    const many = await Promise.all(Array.from({ length: 200 }, () => api.call("whoami")));
    expect(new Set(many)).toEqual(new Set(["bob"]));
    await connection.close();
  });

  test("take the nonce of the first only; the others are counted", async () => {
    const nonces = memoryNonces();
    await using served = await serveTcp(hostSeal({ nonces }));
    const api = createClient(tcpLink({ port: served.port, seal: clientSeal() }));
    for (let i = 0; i < 20; i++) await api.call("whoami");
    expect(nonces.size).toBe(1);
    await api.close();
  });

  test("work with a store that takes its time, in order", async () => {
    const memory = memoryNonces();
    const nonces = { take: async (nonce: Parameters<typeof memory.take>[0]) => memory.take(nonce) };
    await using served = await serveTcp(hostSeal({ nonces }));
    const api = createClient(tcpLink({ port: served.port, seal: clientSeal() }));
    const all = await Promise.all(Array.from({ length: 50 }, () => api.call("whoami")));
    expect(all).toEqual(Array.from({ length: 50 }, () => "bob"));
    await api.close();
  });

  test("wait in great number for a key that takes its time", async () => {
    const all = Array.from({ length: 2_000 }, (_, i) => i);
    const answered = deferred();
    const last = (i: number) => {
      if (i === all.length - 1) answered.resolve();
      return i;
    };
    await using served = await serveTcp(hostSeal(), { last });
    const keys = async () => {
      await answered.promise;
      return host.verifier;
    };
    const api = createClient(tcpLink({ port: served.port, seal: clientSeal({ keys }) }));
    expect(await Promise.all(all.map((i) => api.call("last", [i])))).toEqual(all);
    await api.close();
  });

  test("are still handled when the peer closes while they are verified", async () => {
    await using served = await serveTcp();
    const keys = async () => {
      await served.server.close();
      for (let i = 0; i < 20; i++) await turn();
      return host.verifier;
    };
    const api = createClient(tcpLink({ port: served.port, seal: clientSeal({ keys }) }));
    expect(await api.call("whoami")).toBe("bob");
    await api.close();
  });

  test("are refused when the store fails, without a reason for the caller", async () => {
    const nonces = { take: () => Promise.reject(new Error("secret address")) };
    await using served = await serveTcp(hostSeal({ nonces }));
    // A client that does not check replies sees the error itself.
    const seal = signedMessages({ key: client.signer });
    const api = createClient(tcpLink({ port: served.port, seal }));
    await expect(api.call("whoami")).rejects.toMatchObject({
      code: -32603,
      message: "Internal error",
      data: undefined,
    });
    await api.close();
  });
});

describe("refused, and no handler runs", () => {
  /** The server's raw side, written by hand. */
  function raw(port: number) {
    return rawStream(connect(port, "127.0.0.1"), newlineFraming);
  }

  function reasonOf(reply: Record<string, unknown>): unknown {
    const { msg } = reply as { msg?: string };
    const { error } = (msg === undefined ? reply : JSON.parse(msg)) as {
      error: { code: number; data: { reason: string } };
    };
    expect(error.code).toBe(-32001);
    return error.data.reason;
  }

  /** What a client sends for one call on a fresh connection. */
  async function recorded(seal: SealMaker): Promise<string> {
    return seal().seal('{"jsonrpc":"2.0","method":"whoami","id":7}');
  }

  test("an unsigned message", async () => {
    await using served = await serveTcp();
    const end = raw(served.port);
    end.send('{"jsonrpc":"2.0","method":"whoami","id":1}');
    expect(reasonOf(await end.inbox.message())).toBe("signature-missing");
    end.send('{"jsonrpc":"2.0","method":"whoami"}');
    end.send('[{"jsonrpc":"2.0","method":"whoami","id":2}]');
    expect(reasonOf(await end.inbox.message())).toBe("signature-missing");
    expect(served.ran).toEqual([]);
    end.kill();
  });

  test("a replayed message, on the same and on another connection", async () => {
    await using served = await serveTcp();
    const text = await recorded(clientSeal());
    const end = raw(served.port);
    end.send(text);
    await end.inbox.message();
    end.send(text);
    expect(reasonOf(await end.inbox.message())).toBe("replayed");
    const other = raw(served.port);
    other.send(text);
    expect(reasonOf(await other.inbox.message())).toBe("replayed");
    expect(served.ran).toEqual(["whoami"]);
    end.kill();
    other.kill();
  });

  test("the first message of another connection of the same caller", async () => {
    await using served = await serveTcp();
    const end = raw(served.port);
    end.send(await recorded(clientSeal()));
    await end.inbox.message();
    end.send(await recorded(clientSeal()));
    expect(reasonOf(await end.inbox.message())).toBe("replayed");
    expect(served.ran).toEqual(["whoami"]);
    end.kill();
  });

  test("a changed message, one of a foreign key, or one that names another algorithm", async () => {
    await using served = await serveTcp();
    const { jws, msg } = JSON.parse(await recorded(clientSeal()));
    const [head = "", , signature] = jws.split(".");
    const header = JSON.parse(Buffer.from(head, "base64url").toString());
    const withHeader = (change: object): string =>
      `${Buffer.from(JSON.stringify({ ...header, ...change })).toString("base64url")}..${signature}`;
    const foreign = createSigningKey("hmac-sha256", "client-1").signer;
    const cases: Record<string, { jws: string; msg: string }> = {
      message: { jws, msg: msg.replace("whoami", "transfer") },
      space: { jws, msg: `${msg} ` },
      kid: { jws: withHeader({ kid: "server-1" }), msg },
      none: { jws: withHeader({ alg: "none" }), msg },
      EdDSA: { jws: withHeader({ alg: "EdDSA" }), msg },
      "no signature": { jws: `${head}..`, msg },
      attached: { jws: `${head}.${Buffer.from(msg).toString("base64url")}.${signature}`, msg },
      garbage: { jws: "%%%", msg },
      foreign: JSON.parse(await recorded(signedMessages({ key: foreign }))),
    };
    for (const [name, envelope] of Object.entries(cases)) {
      const end = raw(served.port);
      end.send(JSON.stringify(envelope));
      const reply = await end.inbox.message();
      expect(reasonOf(reply), name).toBe("signature-invalid");
      end.kill();
    }
    expect(served.ran).toEqual([]);
  });

  test("a message that is too old", async () => {
    const clock = new FakeClock(Date.now());
    await using served = await serveTcp(hostSeal({ clock }));
    const text = await recorded(clientSeal({ clock }));
    clock.advance(62_000);
    const end = raw(served.port);
    end.send(text);
    expect(reasonOf(await end.inbox.message())).toBe("signature-expired");
    end.kill();
  });

  test("another principal on the same connection", async () => {
    const eve = createSigningKey("hmac-sha256", "client-2");
    const keys = [{ ...client.verifier, principal }, eve.verifier];
    await using served = await serveTcp(signedMessages({ keys }));
    const end = raw(served.port);
    end.send(await recorded(clientSeal()));
    expect(await end.inbox.message()).toMatchObject({ result: "bob", id: 7 });
    end.send(await recorded(signedMessages({ key: eve.signer })));
    expect(reasonOf(await end.inbox.message())).toBe("principal-changed");
    end.kill();
  });

  test("a peer that continues is disconnected", async () => {
    await using served = await serveTcp();
    const end = raw(served.port);
    for (let i = 0; i < 10; i++) end.send('{"jsonrpc":"2.0","method":"whoami","id":1}');
    await end.inbox.drained();
    expect(served.ran).toEqual([]);
  });
});

describe("somebody on the way", () => {
  async function through(change: (line: string, direction: Direction) => readonly string[]) {
    const served = await serveTcp();
    const proxy = await lineProxy(served.port, change);
    const api = createClient(
      tcpLink({ port: proxy.port, seal: clientSeal(), reconnect: false, log: silentLog }),
    );
    return {
      served,
      api,
      async [Symbol.asyncDispose]() {
        await api.close();
        await proxy[Symbol.asyncDispose]();
        await served[Symbol.asyncDispose]();
      },
    };
  }

  test("cannot repeat a call", async () => {
    await using wire = await through((line, direction) =>
      direction === "out" ? [line, line] : [line],
    );
    for (let i = 0; i < 3; i++) await wire.api.call("whoami").catch(() => {});
    const { ran } = wire.served;
    expect(ran).toHaveLength(3);
  });

  test("cannot change a reply", async () => {
    // Not the call: a signature, which has random letters, may contain that name too.
    await using wire = await through((line, direction) =>
      direction === "back" ? [line.replace('\\"bob\\"', '\\"eve\\"')] : [line],
    );
    await expect(wire.api.call("whoami")).rejects.toMatchObject({ code: "BAD_REPLY" });
  });

  test("cannot answer with an unsigned reply", async () => {
    await using wire = await through((line, direction) => {
      if (direction === "out") return [line];
      return [JSON.parse(line).msg];
    });
    await expect(wire.api.call("whoami")).rejects.toMatchObject({ code: "BAD_REPLY" });
  });

  test("cannot answer with the reply of another connection", async () => {
    const kept: string[] = [];
    await using first = await through((line, direction) => {
      if (direction === "back") kept.push(line);
      return [line];
    });
    expect(await first.api.call("whoami")).toBe("bob");
    await using second = await through((line, direction) =>
      direction === "back" ? [kept[0] as string] : [line],
    );
    await expect(second.api.call("whoami")).rejects.toMatchObject({ code: "BAD_REPLY" });
  });

  const allKeys = [client.verifier, host.verifier];
  test.each([
    ["a list has the key of the server only", [host.verifier]],
    ["a lookup finds all keys", (kid: string) => allKeys.find((key) => key.kid === kid)],
  ])("cannot send a message back to whom it came from, where %s", async (_, keys) => {
    const calls: string[] = [];
    const own = createServer({ whoami: () => calls.push("own") }, { log: silentLog });
    await using served = await serveTcp();
    let sent: string[] = [];
    await using proxy = await lineProxy(served.port, (line, direction) => {
      if (direction === "out") sent.push(line);
      const mirrored = direction === "back" ? sent : [];
      if (direction === "back") sent = [];
      return [...mirrored, line];
    });
    const { port } = proxy;
    const seal = clientSeal({ keys });
    const connection = await connectSocket({ port, seal, service: own, log: silentLog });
    expect(await connection.call("whoami")).toBe("bob");
    expect(calls).toEqual([]);
    await connection.close();
  });
});

test("unsigned callers may be admitted, without a principal", async () => {
  await using served = await serveTcp(hostSeal({ unsigned: "pass" }));
  const plain = createClient(tcpLink({ port: served.port }));
  expect(await plain.call("whoami")).toBe("nobody");
  const signed = createClient(tcpLink({ port: served.port, seal: clientSeal() }));
  expect(await signed.call("whoami")).toBe("bob");
  await Promise.all([plain.close(), signed.close()]);
});

test("a key for both directions is refused, since messages could be sent back", () => {
  const { signer } = client;
  expect(() => signedMessages({ key: signer, keys: [signer] })).toThrow("both directions");
  expect(() => signedMessages({})).toThrow("needs a key");
});
