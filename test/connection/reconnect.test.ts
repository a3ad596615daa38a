import { type ClientOptions, createClient, silentLog, WireError } from "callwire";
import { Connection, type ReconnectOptions, reconnecting } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { turn } from "../transports/contract-methods.ts";
import { HandChannel, transport } from "./hand-channel.ts";

type Methods = Record<"a" | "b", () => Promise<unknown>> & Record<string, () => Promise<unknown>>;

/** A link to a server that the test plays, and that can be away. */
function setUp(options: ReconnectOptions | boolean = {}, more: ClientOptions = {}) {
  const clock = new FakeClock();
  const channels: HandChannel[] = [];
  const state = { attempts: 0, away: false, wait: undefined as Promise<void> | undefined };
  const link = reconnecting(
    async () => {
      state.attempts++;
      await state.wait;
      if (state.away) throw new WireError("CONNECTION_FAILED", `attempt ${state.attempts}`);
      const channel = new HandChannel();
      channels.push(channel);
      return new Connection(channel, { transport, log: silentLog });
    },
    typeof options === "boolean" ? options : { clock, random: () => 1, ...options },
  );
  const client = createClient<Methods>(link, { clock, idempotent: ["read"], ...more });
  return { clock, channels, state, link, client };
}

/** The server disconnects after it has answered a call. */
async function loseServer({ channels, state, client }: ReturnType<typeof setUp>): Promise<void> {
  const first = client.call("first");
  await turn();
  answerAll(channels[0]);
  await first;
  state.away = true;
  channels[0]?.listener.end();
  await turn();
}

/** Answers every request on this channel with its method. */
function answerAll(channel: HandChannel | undefined): void {
  for (const message of channel?.messages ?? []) {
    for (const { method, id } of (Array.isArray(message) ? message : [message]) as {
      method: string;
      id?: number;
    }[]) {
      if (id !== undefined) channel?.hear({ jsonrpc: "2.0", result: method, id });
    }
  }
}

function methodsOn(channel: HandChannel | undefined): unknown[] {
  return (channel?.messages ?? []).flatMap((message) =>
    (Array.isArray(message) ? message : [message]).map(({ method }) => method as unknown),
  );
}

describe("a reconnecting link", () => {
  test("connects when it is first used, once for all", async () => {
    const { channels, state, client } = setUp();
    expect(state.attempts).toBe(0);
    const calls = [client.call("one"), client.call("two")];
    await turn();
    answerAll(channels[0]);
    expect(await Promise.all(calls)).toEqual(["one", "two"]);
    expect(state.attempts).toBe(1);
  });

  test("fails a call at once when it cannot connect", async () => {
    const { state, client } = setUp();
    state.away = true;
    await expect(client.call("one")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    state.away = false;
    const call = client.call("two");
    await turn();
    expect(state.attempts).toBe(2);
    await client.close();
    await expect(call).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("fails what was sent, and never sends it again", async () => {
    const { channels, client } = setUp();
    const call = client.call("write");
    await turn();
    channels[0]?.listener.end(new Error("reset"));
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await turn();
    expect(channels).toHaveLength(2);
    expect(methodsOn(channels[1])).toEqual([]);
  });

  test("sends idempotent calls again, and reports the gap", async () => {
    const { channels, client } = setUp();
    let gaps = 0;
    const call = client.call("read", [], { onGap: () => gaps++ });
    const batch = client.with({ idempotent: true }).batch((b) => [b.a(), b.b()]);
    await turn();
    channels[0]?.listener.end();
    await turn();
    expect(methodsOn(channels[1]).toSorted()).toEqual(["a", "b", "read"]);
    answerAll(channels[1]);
    expect(await call).toBe("read");
    expect(await batch).toEqual(["a", "b"]);
    expect(gaps).toBe(1);
  });

  test("does not send again what its caller cancels because of the gap", async () => {
    const { channels, client } = setUp();
    const controller = new AbortController();
    const options = { signal: controller.signal, onGap: () => controller.abort() };
    const call = client.call("read", [], options);
    const failed = expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await turn();
    channels[0]?.listener.end();
    await failed;
    await turn();
    expect(channels).toHaveLength(2);
    expect(methodsOn(channels[1])).toEqual([]);
  });

  test("does not send again what its caller cancels because of the loss", async () => {
    const controller = new AbortController();
    const { channels, client } = setUp({ onLost: () => controller.abort() });
    let gaps = 0;
    const { signal } = controller;
    const often = client.with({ signal, idempotent: true, onGap: () => gaps++ });
    const calls = Promise.allSettled([often.call("a"), often.batch((b) => [b.a(), b.b()])]);
    await turn();
    channels[0]?.listener.end();
    const aborted = { reason: { code: "ABORTED" } };
    expect(await calls).toMatchObject([aborted, aborted]);
    await turn();
    expect(channels).toHaveLength(2);
    expect(methodsOn(channels[1])).toEqual([]);
    expect(gaps).toBe(0);
  });

  test("reconnects although its listener throws, and logs that", async () => {
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    const onLost = (): void => {
      throw new Error("a bug of the listener");
    };
    const { channels, client } = setUp({ onLost });
    const first = client.call("first");
    await turn();
    answerAll(channels[0]);
    await first;
    channels[0]?.listener.end();
    await turn();
    expect(channels).toHaveLength(2);
    expect(said).toHaveBeenCalledOnce();
  });

  test("keeps what was not sent until it has reconnected", async () => {
    const set = setUp({ delayMs: 100 });
    await loseServer(set);
    const { clock, channels, state, client } = set;
    const call = client.call("write");
    const batch = client.batch((b) => [b.a(), b.b()]);
    await turn();
    state.away = false;
    clock.advance(100);
    await turn();
    answerAll(channels[1]);
    expect(await call).toBe("write");
    expect(await batch).toEqual(["a", "b"]);
  });

  test("waits longer from attempt to attempt, and gives up in the end", async () => {
    const set = setUp({ attempts: 5, delayMs: 10, maxDelayMs: 30 });
    await loseServer(set);
    const { clock, state, client } = set;
    const call = expect(client.call("waiting")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
    const times: number[] = [];
    for (let now = 0, seen = 1; now <= 300; now++) {
      if (state.attempts > seen) times.push(now);
      seen = state.attempts;
      clock.advance(1);
      await turn();
    }
    await call;
    // At once, and then after 10, 20, 30 and 30 milliseconds.
    expect(times).toEqual([0, 10, 30, 60, 90]);
  });

  test("a lost call that cannot be sent again may have run, and no gap is reported", async () => {
    const { channels, state, client } = setUp({ attempts: 1 });
    let gaps = 0;
    const repeating = client.with({ idempotent: true, onGap: () => gaps++ });
    const calls = Promise.all([
      repeating.call("a").catch((error: unknown) => ({ reason: error })),
      repeating.batchSettled((b) => [b.a(), b.b()]),
    ]);
    await turn();
    state.away = true;
    channels[0]?.listener.end();
    const lost = { reason: { code: "CONNECTION_LOST", message: "attempt 2" } };
    expect(await calls).toMatchObject([lost, [lost, lost]]);
    expect(gaps).toBe(0);
  });

  test.each([0, 3])(
    "gives up on a peer that disconnects at once, after %i attempts, even for a call that may run twice",
    async (attempts) => {
      const { clock, channels, state, client } = setUp({ attempts, delayMs: 10, maxDelayMs: 10 });
      let ended: unknown;
      void client.call("read").catch((error: unknown) => {
        ended = error;
      });
      const batch = client.with({ idempotent: true }).batchSettled((b) => [b.a(), b.b()]);
      for (let i = 0; i < 50 && ended === undefined; i++) {
        await turn();
        channels.at(-1)?.listener.end();
        clock.advance(9);
      }
      expect(ended).toMatchObject({ code: "CONNECTION_LOST" });
      for (const outcome of await batch) {
        expect(outcome).toMatchObject({ reason: { code: "CONNECTION_LOST" } });
      }
      expect(state.attempts).toBe(1 + attempts);
      // A later call tries again.
      const call = client.call("write");
      await turn();
      answerAll(channels.at(-1));
      expect(await call).toBe("write");
    },
  );

  test.each([0, 1])(
    "gives up on connections that their owner closes, after %i attempts",
    async (attempts) => {
      const { clock, channels, state, client } = setUp({
        attempts,
        onConnect: (connection) => void setImmediate(() => connection.close()),
      });
      let ended: unknown;
      void client.call("read").catch((error: unknown) => {
        ended = error;
      });
      for (let i = 0; i < 50 && ended === undefined; i++) {
        await turn();
        clock.advance(9);
      }
      expect(ended).toMatchObject({ code: "CLOSED" });
      expect(state.attempts).toBe(1 + attempts);
      expect(channels.flatMap(methodsOn)).toEqual(Array(1 + attempts).fill("read"));
    },
  );

  test.each([true, false])(
    "does not continue sending on a connection that is closing, whether or not it reconnects: %s",
    async (heals) => {
      const { channels, client } = setUp(heals);
      const first = client.call("first");
      await turn();
      const [channel] = channels;
      answerAll(channel);
      await first;
      if (channel !== undefined) channel.endsWhenClosed = false;
      for (let i = 0; i < 10; i++) channel?.hear("garbage");
      const calls = Promise.all([client.call("next"), client.batch((b) => [b.a(), b.b()])]);
      await turn();
      expect(channels).toHaveLength(1);
      channel?.listener.end();
      await turn();
      answerAll(channels[1]);
      expect(await calls).toEqual(["next", ["a", "b"]]);
    },
  );

  test("what was sent is not sent again when the owner of the connection closes it", async () => {
    const owned: Connection[] = [];
    const { channels, client } = setUp({ onConnect: (connection) => void owned.push(connection) });
    const calls = Promise.allSettled([client.call("write"), client.call("read")]);
    const batch = client.batchSettled((b) => [b.a(), b.b()]);
    await turn();
    await owned[0]?.close();
    await turn();
    answerAll(channels[1]);
    expect(await calls).toMatchObject([{ reason: { code: "CLOSED" } }, { value: "read" }]);
    expect(await batch).toMatchObject([
      { reason: { code: "CLOSED" } },
      { reason: { code: "CLOSED" } },
    ]);
    expect(methodsOn(channels[1])).toEqual(["read"]);
  });

  test("a call is cancelled at the peer, or not sent, whenever its caller cancels", async () => {
    const { channels, client } = setUp();
    for (let ticks = 0; ticks < 12; ticks++) {
      const controller = new AbortController();
      const call = client.call(`${ticks}`, [], { signal: controller.signal });
      for (let i = 0; i < ticks; i++) await undefined;
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    }
    await turn();
    const sent = channels[0]?.messages ?? [];
    const cancels = sent.filter(({ method }) => method === "$/cancelRequest");
    const ids = sent.flatMap(({ id }) => id ?? []);
    expect(ids.length).toBeGreaterThan(0);
    expect(cancels.map(({ params }) => (params as { id: number }).id)).toEqual(ids);
  });

  test("does not reconnect with reconnect: false", async () => {
    const { channels, client } = setUp(false);
    const call = client.call("read");
    await turn();
    channels[0]?.listener.end();
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await turn();
    expect(channels).toHaveLength(1);
  });

  test("reports connections that were made and lost", async () => {
    const seen: unknown[] = [];
    const { channels, client } = setUp({
      onConnect: (connection) => void seen.push(connection.isOpen),
      onLost: (error) => void seen.push(error.message),
    });
    const call = client.call("a");
    await turn();
    channels[0]?.listener.end(new Error("reset"));
    await expect(call).rejects.toThrow("reset");
    await turn();
    expect(seen).toEqual([true, "reset", true]);
    await client.close();
    expect(seen).toHaveLength(3);
  });
});

describe("a connection that cannot be made ready", () => {
  test("is closed, and its failure is that of the call", async () => {
    const { channels, client } = setUp({
      onConnect: () => {
        throw new Error("wrong password");
      },
    });
    for (let i = 0; i < 3; i++) await expect(client.call("a")).rejects.toThrow("wrong password");
    expect(channels.map(({ closedFor }) => closedFor)).toEqual(["done", "done", "done"]);
  });

  test("has carried no call, although another message was lost", async () => {
    const { channels, client } = setUp({
      onConnect: () => {
        throw new WireError("CONNECTION_LOST", "the token did not come");
      },
    });
    let gaps = 0;
    const failed = { code: "CONNECTION_FAILED", message: "the token did not come" };
    await expect(client.call("a")).rejects.toMatchObject(failed);
    const often = client.with({ idempotent: true, onGap: () => gaps++ });
    await expect(often.call("a")).rejects.toMatchObject(failed);
    expect(await often.batchSettled((b) => [b.a()])).toMatchObject([{ reason: failed }]);
    expect(gaps).toBe(0);
    expect(channels.flatMap(({ sent }) => sent)).toEqual([]);
  });

  test("does not hold up the link that closes", async () => {
    const { channels, client } = setUp({ onConnect: (connection) => connection.call("login") });
    const call = client.call("a");
    await turn();
    await client.close();
    await expect(call).rejects.toMatchObject({ code: "CLOSED" });
    expect(channels[0]?.closedFor).toBe("done");
  });

  test("is abandoned when it breaks, whatever it waits for", async () => {
    const { channels, client } = setUp({ onConnect: () => new Promise(() => {}) });
    const call = client.call("a");
    await turn();
    channels[0]?.listener.end(new Error("reset"));
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await client.close();
  });
});

describe("while a link connects", () => {
  async function connecting() {
    const made = setUp();
    let connect: () => void = () => {};
    made.state.wait = new Promise<void>((resolve) => {
      connect = resolve;
    });
    return { ...made, connect };
  }

  test("a cancelled call is never sent", async () => {
    const { channels, client, connect } = await connecting();
    const controller = new AbortController();
    const given = client.call("given", [], { signal: controller.signal });
    const kept = client.call("kept");
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    connect();
    await turn();
    expect(methodsOn(channels[0])).toEqual(["kept"]);
    answerAll(channels[0]);
    expect(await kept).toBe("kept");
  });

  test("cancelling a call of a batch does not cancel the others", async () => {
    const { channels, link, connect } = await connecting();
    const controller = new AbortController();
    const client = createClient(link, { batch: true });
    const given = client.call("given", [], { signal: controller.signal });
    const kept = [client.call("kept"), client.call("too")];
    await turn();
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    connect();
    await turn();
    expect(methodsOn(channels[0])).toEqual(["kept", "too"]);
    answerAll(channels[0]);
    expect(await Promise.all(kept)).toEqual(["kept", "too"]);
  });

  test("a timeout counts", async () => {
    const { clock, channels, client, connect } = await connecting();
    const call = client.call("slow", [], { timeoutMs: 100 });
    clock.advance(110);
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
    connect();
    await turn();
    expect(methodsOn(channels[0])).toEqual([]);
  });

  test("closing fails what waits, and the connection does not outlive it", async () => {
    const { channels, client, connect } = await connecting();
    const call = client.call("waiting");
    await turn();
    const closing = client.close();
    connect();
    await expect(call).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
    expect(channels[0]?.closedFor).toBe("done");
    await expect(client.call("late")).rejects.toMatchObject({ code: "CLOSED" });
  });
});
