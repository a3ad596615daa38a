import { createClient, createServer, stream, WireError } from "callwire";
import { describe, expect, test } from "vitest";
import { type Exchange, exchangeLink, Payload } from "../../src/protocol/exchange.ts";

const server = createServer({
  add: (a: number, b: number) => a + b,
  count: stream({}, async function* () {
    yield 1;
  }),
});

const answer: Exchange = async (text) => server.receive(text);

describe("a wire that answers a text with a text", () => {
  test("is a link in one line", async () => {
    const client = createClient<typeof server.api>(
      exchangeLink(async (text) => server.receive(text)),
    );
    expect(await client.call("add", [2, 3])).toBe(5);
    expect(await client.batch((b) => [b.add(1, 2), b.add(3, 4)])).toEqual([3, 7]);
    expect(await client.notify("add", [1, 2])).toBeUndefined();
    await expect(client.call<unknown>("none")).rejects.toMatchObject({ code: -32601 });
  });

  test("learns whether a reply is expected", async () => {
    const expected: boolean[] = [];
    const client = createClient(
      exchangeLink((text, payload) => {
        expected.push(payload.expectsReply);
        return answer(text, payload);
      }),
    );
    await client.call("add", [1, 2]);
    await client.notify("add", [1, 2]);
    expect(expected).toEqual([true, false]);
  });

  test.each([
    ["gives nothing", async () => undefined],
    ["gives no JSON", async () => "<html>"],
    ["gives an array for a single call", async () => "[]"],
  ])("that %s is a bad reply", async (_, exchange) => {
    await expect(createClient(exchangeLink(exchange)).call("m")).rejects.toMatchObject({
      name: "WireError",
      code: "BAD_REPLY",
    });
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("no route"))],
    [
      "throws",
      () => {
        throw new Error("no route");
      },
    ],
  ])("that %s fails each call with its error", async (_, exchange) => {
    const client = createClient<typeof server.api>(exchangeLink(exchange));
    await expect(client.call<unknown>("m")).rejects.toThrow("no route");
    const outcomes = await client.batchSettled((b) => [b.add(1, 2), b.add(3, 4)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  });

  test("is not asked about params that cannot be written", async () => {
    let asked = 0;
    const client = createClient<typeof server.api>(
      exchangeLink(async () => {
        asked++;
        return undefined;
      }),
    );
    await expect(client.call<unknown>("m", [1n])).rejects.toThrow(TypeError);
    const outcomes = await client.batchSettled((b) => [b.add(1n as never, 2), b.add(3, 4)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(asked).toBe(0);
  });
});

describe("giving up", () => {
  test("aborts the signal of the exchange, and calls onCancel", async () => {
    const controller = new AbortController();
    let told = 0;
    let signal: AbortSignal | undefined;
    const link = exchangeLink((_, payload) => {
      signal = payload.signal;
      payload.onCancel = () => told++;
      return new Promise(() => {});
    });
    const failed = createClient(link).call("m", [], { signal: controller.signal });
    expect(signal?.aborted).toBe(false);
    controller.abort();
    await expect(failed).rejects.toMatchObject({ code: "ABORTED" });
    expect(signal?.aborted).toBe(true);
    expect(told).toBe(1);
  });

  test("a late reply does no harm", async () => {
    const controller = new AbortController();
    let reply: (text: string) => void = () => {};
    const link = exchangeLink(
      () =>
        new Promise((resolve) => {
          reply = resolve;
        }),
    );
    const failed = createClient(link).call("m", [], { signal: controller.signal });
    controller.abort();
    await expect(failed).rejects.toMatchObject({ code: "ABORTED" });
    reply("late");
  });

  test("closing fails open calls once, and releases what they held", async () => {
    let released = 0;
    const link = exchangeLink(() => new Promise(() => {}), { close: () => released++ });
    const client = createClient(link);
    const failed = Promise.allSettled([client.call("a"), client.call("b")]);
    await client.close();
    for (const outcome of await failed)
      expect(outcome).toMatchObject({ reason: { code: "CLOSED" } });
    await expect(client.call("c")).rejects.toMatchObject({ code: "CLOSED" });
    expect(released).toBe(1);
  });
});

describe("what comes before the replies to a batch", () => {
  function payloadOf(ids: readonly (number | undefined)[]) {
    const heard: unknown[] = [];
    const outgoing = ids.map((id) => ({
      item: (value: unknown, give: (count: number) => void) => {
        heard.push([id, value]);
        give(5);
        return undefined;
      },
      progress: (value: unknown) => void heard.push([id, "progress", value]),
    }));
    const requests = ids.map((id) => ({ jsonrpc: "2.0", method: "m", id }));
    return { heard, payload: new Payload(requests as never, outgoing as never) };
  }
  const message = (method: string, params: unknown) =>
    ({ jsonrpc: "2.0", method, params }) as never;

  test("goes to the call that it names, and to no other", () => {
    const { heard, payload } = payloadOf([1, 2]);
    const given: unknown[] = [];
    const take = (method: string, params: unknown) =>
      payload.take(message(method, params), "", (id, count) => given.push([id, count]));
    expect(take("$/stream", { id: 2, value: "a" })).toBe(true);
    expect(take("$/progress", { token: 1, value: "b" })).toBe(true);
    expect(take("$/stream", { id: 3, value: "c" })).toBe(true);
    expect(take("$/progress", { token: 3, value: "d" })).toBe(true);
    expect(take("$/other", { id: 1 })).toBe(false);
    expect(heard).toEqual([
      [2, "a"],
      [1, "progress", "b"],
    ]);
    expect(given).toEqual([[2, 5]]);
    expect(payload.expectsReply).toBe(true);
    expect(payloadOf([undefined, undefined]).payload.expectsReply).toBe(false);
    expect(payloadOf([undefined, 1]).payload.expectsReply).toBe(true);
  });

  test("is dropped after they were cancelled, once", () => {
    const { heard, payload } = payloadOf([1]);
    let cancelled = 0;
    payload.onCancel = () => cancelled++;
    payload.cancel();
    payload.cancel();
    const text = JSON.stringify(message("$/stream", { id: 1, value: "a" }));
    expect([payload.receive(text), heard, cancelled]).toEqual([true, [], 1]);
    // A signal that is first read late has aborted.
    expect(payload.signal.aborted).toBe(true);
    expect(payloadOf([1]).payload.signal.aborted).toBe(false);
  });
});

test("the calls of a batch are cancelled one by one, and the last cancels the exchange", async () => {
  let signal: AbortSignal | undefined;
  const link = exchangeLink((_, payload) => {
    signal = payload.signal;
    return new Promise(() => {});
  });
  const outgoing = [{}, {}] as { cancel?: (error: WireError) => void }[];
  const request = (id: number) => ({ jsonrpc: "2.0", method: "m", id }) as never;
  const replies = link.sendBatch?.([request(1), request(2)], outgoing as never) ?? [];
  const outcomes = replies.map((reply) => Promise.resolve(reply).catch((error) => error.message));
  outgoing[0]?.cancel?.(new WireError("ABORTED", "first"));
  expect([await outcomes[0], signal?.aborted, outgoing[0]?.cancel]).toEqual([
    ...["first", false, undefined],
  ]);
  outgoing[1]?.cancel?.(new WireError("ABORTED", "second"));
  expect([await outcomes[1], signal?.aborted, outgoing[1]?.cancel]).toEqual([
    ...["second", true, undefined],
  ]);
});

test("a call that is over cannot be cancelled any more, however it went", async () => {
  const request = { jsonrpc: "2.0", method: "add", params: [1, 2], id: 1 } as const;
  for (const exchange of [answer, async () => "{", () => Promise.reject(new Error("no"))]) {
    const outgoing = {} as { cancel?: unknown };
    const reply = exchangeLink(exchange).send(request, outgoing as never);
    expect(outgoing.cancel).toBeTypeOf("function");
    await Promise.resolve(reply).catch(() => {});
    expect(outgoing.cancel).toBeUndefined();
  }
});

test("an exchange has the address, the bytes and the tap that it is given", async () => {
  const texts: unknown[] = [];
  const link = exchangeLink(answer, {
    address: "http://a.example/",
    carriesBytes: true,
    tap: (text, direction) => texts.push([direction, text]),
  });
  expect(link).toMatchObject({ address: "http://a.example/", carriesBytes: true });
  expect(exchangeLink(answer)).toMatchObject({ address: undefined, carriesBytes: false });
  const request = { jsonrpc: "2.0", method: "add", params: [1, 2], id: 1 } as const;
  await link.send(request, {} as never);
  expect(texts).toEqual([
    ["sent", '{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}'],
    ["received", '{"jsonrpc":"2.0","result":3,"id":1}'],
  ]);
  await link.send({ ...request, id: undefined }, {} as never);
  expect(texts.slice(2)).toEqual([["sent", '{"jsonrpc":"2.0","method":"add","params":[1,2]}']]);
});

test("messages before the reply go to the caller", async () => {
  const messages = [
    '{"jsonrpc":"2.0","method":"$/stream","params":{"id":1,"value":"item"}}',
    '{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":"half"}}',
    '{"jsonrpc":"2.0","method":"$/stream"}',
    '{"jsonrpc":"2.0","method":"other"}',
  ];
  const taken: unknown[] = [];
  const client = createClient(
    exchangeLink(async (text, payload) => {
      for (const message of messages) taken.push(payload.receive(message));
      for (const message of ['{"result":"\\"method\\""}', '"method"', '{"method":5}', "{"]) {
        taken.push(payload.receive(message));
      }
      return server.receive(text.replace('"m"', '"add"'));
    }),
  );
  const heard: unknown[] = [];
  const items: unknown[] = [];
  const call = client.stream("m", [2, 3], { onProgress: (value) => heard.push(value) });
  for await (const item of call) items.push(item);
  expect(items).toEqual(["item", undefined]);
  expect(heard).toEqual(["half"]);
  expect(taken).toEqual([true, true, true, true, false, false, false, false]);
});
