import {
  type Client,
  createClient,
  type Link,
  method,
  type RpcError,
  type StreamResult,
  safe,
  stream,
  type WireError,
} from "callwire";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const link: Link;

const methods = {
  math: {
    add: method(
      { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
      ({ a, b }) => a + b,
    ),
    sum: method({ params: z.array(z.number()) }, (numbers) => numbers.length),
    pair: method({ params: z.tuple([z.string(), z.number()]) }, ([name, age]) => ({ name, age })),
  },
  greet: method(
    { params: z.object({ name: z.string().optional(), times: z.coerce.number().default(1) }) },
    ({ name, times }) => ({ name, times }),
  ),
  generate: method(
    {
      params: z.object({ prompt: z.string() }),
      result: z.string(),
      errors: {
        PROMPT_TOO_LONG: { code: 1001, data: z.object({ most: z.number() }) },
        NO_CREDIT: { code: 1002 },
      },
    },
    ({ prompt }) => prompt,
  ),
  now: method({}, () => new Date(0).toISOString()),
  page: method(
    { params: z.object({ size: z.number() }).default({ size: 10 }) },
    ({ size }) => size,
  ),
  range: method({ params: z.tuple([z.number(), z.number()]).optional() }, (ends) => ends?.length),
  free: method({ params: z.any() }, () => 1),
  later: method({}, async () => [1, 2] as const),
  throws: method({}, () => {
    throw new Error("always");
  }),
  count: stream(
    { params: z.object({ to: z.number() }), item: z.number() },
    async function* ({ to }) {
      yield to;
    },
  ),
  letters: stream({}, function* () {
    yield "a" as const;
  }),
  echo: (message: string, times?: number) => ({ message, times }),
  wait: async (ms: number) => ms > 0,
  anything: () => JSON.parse("1"),
  fails: (): never => {
    throw new Error("always");
  },
  ticks: async function* (every: number) {
    yield { every };
  },
  primes: function* () {
    yield 2 as const;
  },
};
type Methods = typeof methods;

const client = createClient<Methods>(link);
const { api } = client;

test("the api has the params and results of its methods", async () => {
  expectTypeOf(await api.math.add({ a: 1, b: 2 })).toEqualTypeOf<number>();
  expectTypeOf(await api.math.sum(1, 2, 3)).toEqualTypeOf<number>();
  expectTypeOf(await api.math.pair("Ada", 36)).toEqualTypeOf<{ name: string; age: number }>();
  expectTypeOf(await api.greet()).toEqualTypeOf<{ name?: string; times: number }>();
  expectTypeOf(await api.greet({ name: "Ada" })).toEqualTypeOf<{
    name?: string;
    times: number;
  }>();
  expectTypeOf(await api.now()).toEqualTypeOf<string>();
  expectTypeOf(await api.page()).toEqualTypeOf<number>();
  expectTypeOf(await api.page({ size: 5 })).toEqualTypeOf<number>();
  expectTypeOf(await api.range()).toEqualTypeOf<2 | null>();
  expectTypeOf(await api.range(1, 2)).toEqualTypeOf<2 | null>();
  expectTypeOf(await api.free()).toEqualTypeOf<number>();
  expectTypeOf(await api.free({ any: "thing" })).toEqualTypeOf<number>();
  expectTypeOf(await api.later()).toEqualTypeOf<readonly [1, 2]>();
  expectTypeOf(await api.echo("hi")).toEqualTypeOf<{
    message: string;
    times?: number;
  }>();
  expectTypeOf(await api.wait(5)).toEqualTypeOf<boolean>();
  expectTypeOf(await api.throws().then()).toEqualTypeOf<never>();
  expectTypeOf(await api.fails().then()).toEqualTypeOf<never>();
  expectTypeOf(await api.anything().then()).toBeAny();

  // @ts-expect-error params are required
  await api.math.add();
  // @ts-expect-error a member is missing
  await api.math.add({ a: 1 });
  // @ts-expect-error params that may be left out are whole where they are given
  await api.page({});
  // @ts-expect-error so are those by position
  await api.range(1);
  // @ts-expect-error a member has the wrong type
  await api.math.add({ a: 1, b: "2" });
  // @ts-expect-error there is no such member
  await api.math.add({ a: 1, b: 2, c: 3 });
  // @ts-expect-error params by name are not given by position here
  await api.math.add(1, 2);
  // @ts-expect-error the second place is a number
  await api.math.pair("Ada", "36");
  // @ts-expect-error a place is missing
  await api.math.pair("Ada");
  // @ts-expect-error this method takes no params
  await api.now(1);
  // @ts-expect-error a plain function keeps its parameters
  await api.echo(1);
  // @ts-expect-error a plain function keeps how many it has
  await api.echo("hi", 1, 2);
  // @ts-expect-error there is no such method
  await api.math.subtract({ a: 1, b: 2 });
  // @ts-expect-error a group is not a method
  await api.math({ a: 1, b: 2 });
  // @ts-expect-error a method is not a group
  await api.now.then();
});

test("streams are iterated over, with the type of their items", async () => {
  expectTypeOf(api.count({ to: 3 })).toEqualTypeOf<StreamResult<number>>();
  expectTypeOf(api.letters()).toEqualTypeOf<StreamResult<"a">>();
  expectTypeOf(api.primes()).toEqualTypeOf<StreamResult<2>>();
  for await (const tick of api.ticks(5)) expectTypeOf(tick).toEqualTypeOf<{ every: number }>();
  for await (const item of client.stream("count", { to: 3 }))
    expectTypeOf(item).toEqualTypeOf<number>();
  for await (const item of client.stream("ticks", [5]))
    expectTypeOf(item).toEqualTypeOf<{ every: number }>();
  for await (const item of client.stream<string>("nor/this"))
    expectTypeOf(item).toEqualTypeOf<string>();

  // @ts-expect-error the reply of a stream comes after its items, so it is not awaited
  for await (const _ of await api.count({ to: 3 }));
  // @ts-expect-error nor that of a stream that is read by name
  for await (const _ of await client.stream("letters"));
  // @ts-expect-error nor that of a plain function
  for await (const _ of await api.ticks(5));
  // @ts-expect-error a misspelt name does not compile
  client.stream("cuont", { to: 3 });
  // @ts-expect-error a stream needs its params too
  api.count();
  // @ts-expect-error a method that gives one result is not iterated over
  for await (const _ of api.now());
});

test("a known name has its types, and any other name needs the type of its result", async () => {
  expectTypeOf(await client.call("math/add", { a: 1, b: 2 })).toEqualTypeOf<number>();
  expectTypeOf(await client.call("math/add", [1, 2])).toEqualTypeOf<number>();
  expectTypeOf(await client.call("now")).toEqualTypeOf<string>();
  expectTypeOf(await client.call("echo", ["hi"])).toEqualTypeOf<{
    message: string;
    times?: number;
  }>();
  expectTypeOf(
    await client.call("generate", { prompt: "hi" }, { timeoutMs: 5 }),
  ).toEqualTypeOf<string>();
  expectTypeOf(await client.call<unknown>("not/in/the/contract", { any: "thing" })).toBeUnknown();
  // biome-ignore lint/suspicious/noExplicitAny: some callers know nothing of a result
  expectTypeOf(await client.call<any>("not/in/the/contract")).toBeAny();
  expectTypeOf(await client.call<string>("nor/this")).toEqualTypeOf<string>();
  expectTypeOf(await client.call("rpc.discover")).toBeUnknown();
  expectTypeOf(await client.notify("math/add", [1, 2])).toEqualTypeOf<void>();

  expectTypeOf(await client.notify("math/add", { a: 1, b: 2 })).toEqualTypeOf<void>();
  const loose: Client = client;
  expectTypeOf(await loose.notify("not/in/the/contract", { any: "thing" })).toEqualTypeOf<void>();

  // @ts-expect-error a misspelt name does not compile
  await client.call("math/ad", { a: 1, b: 2 });
  // @ts-expect-error a group is not a method
  await client.call("math");
  // @ts-expect-error a misspelt name does not compile, in a notification either
  await client.notify("math/ad", { a: 1, b: 2 });

  // @ts-expect-error a member is missing, in a notification too
  await client.notify("math/add", { a: 1 });
  // @ts-expect-error params are an array or an object
  await loose.notify("not/in/the/contract", 5);
  // @ts-expect-error params are an array or an object
  await client.call<unknown>("not/in/the/contract", 5);
  // @ts-expect-error what the contract has is called as it says
  await client.call("math/add", { a: 1, b: "2" });
  // @ts-expect-error a timeout is a number
  await client.call("now", undefined, { timeoutMs: "5" });
});

test("a known name must be used by its kind, with its params", async () => {
  expectTypeOf(await client.call("greet")).toEqualTypeOf<{
    name?: string;
    times: number;
  }>();
  expectTypeOf(await client.call("page")).toEqualTypeOf<number>();
  expectTypeOf(await client.call("range")).toEqualTypeOf<2 | null>();
  expectTypeOf(await client.call("math/sum")).toEqualTypeOf<number>();
  expectTypeOf(await client.notify("now")).toEqualTypeOf<void>();
  for await (const item of client.stream("letters")) expectTypeOf(item).toEqualTypeOf<"a">();
  // The return value of a function may be a stream too.
  expectTypeOf(await client.call("anything")).toBeAny();
  for await (const item of client.stream("anything")) expectTypeOf(item).toEqualTypeOf<unknown>();
  const either = Math.random() < 0.5 ? "now" : "later";
  expectTypeOf(await client.call(either)).toEqualTypeOf<string | readonly [1, 2]>();
  const known: string = either;
  expectTypeOf(await client.call<unknown>(known, { any: "thing" })).toEqualTypeOf<unknown>();
  // @ts-expect-error any string could be misspelt
  await client.call(known, { any: "thing" });

  // @ts-expect-error params are missing
  await client.call("math/add");
  // @ts-expect-error params are missing where only options could follow
  await client.call("math/add", undefined, { timeoutMs: 5 });
  // @ts-expect-error params are missing, in a notification too
  await client.notify("math/add");
  // @ts-expect-error arguments are missing
  await client.call("echo");
  // @ts-expect-error this place is required
  await client.call("math/pair");
  // @ts-expect-error a stream needs its params too
  client.stream("count");
  // @ts-expect-error a stream is not called
  await client.call("count", { to: 1 });
  // @ts-expect-error nor one that takes no params
  await client.call("letters");
  // @ts-expect-error nor one that a plain function gives
  await client.call("ticks", [5]);
  // @ts-expect-error a method that gives one result is not read
  client.stream("math/add", { a: 1, b: 2 });
  // @ts-expect-error nor is a plain function
  client.stream("wait", [5]);
});

test("a batch gives a tuple of what its calls give", async () => {
  const results = await client.batch((b) => [b.math.add({ a: 1, b: 2 }), b.now(), b.wait(1)]);
  expectTypeOf(results).toEqualTypeOf<[number, string, boolean]>();
  expectTypeOf(await client.batch(() => [])).toEqualTypeOf<[]>();
  const many = await client.batch((b) => [1, 2, 3].map((ms) => b.wait(ms)));
  expectTypeOf(many).toEqualTypeOf<boolean[]>();

  const [first, second] = await client.batchSettled((b) => [b.now(), b.wait(1)]);
  expectTypeOf(first).toEqualTypeOf<PromiseSettledResult<string>>();
  expectTypeOf(second).toEqualTypeOf<PromiseSettledResult<boolean>>();

  // @ts-expect-error a batch is type-checked like any call
  await client.batch((b) => [b.math.add({ a: "1", b: 2 })]);
  // @ts-expect-error a stream cannot be part of a batch
  await client.batch((b) => [b.count({ to: 3 })]);
  // @ts-expect-error a batch gives its calls
  await client.batch((b) => b.now());
});

test("an error is narrowed by its code, and its data with it", async () => {
  const outcome = await safe(api.generate({ prompt: "hi" }));
  if (outcome.ok) {
    expectTypeOf(outcome.value).toEqualTypeOf<string>();
    expectTypeOf(outcome.error).toEqualTypeOf<undefined>();
    return;
  }
  const { error } = outcome;
  // @ts-expect-error a call that failed has no value
  outcome.value.length;
  if (error.code === 1001) {
    expectTypeOf(error.data).toEqualTypeOf<{ most: number }>();
    expectTypeOf(error).toEqualTypeOf<RpcError<1001, { most: number }, "PROMPT_TOO_LONG">>();
  } else if (error.code === 1002) {
    expectTypeOf(error.data).toEqualTypeOf<undefined>();
  } else if (error.code === -32602) {
    expectTypeOf(error.data).toEqualTypeOf<unknown>();
  } else if (error.code === "TIMEOUT") {
    expectTypeOf(error).toEqualTypeOf<WireError>();
    // @ts-expect-error what never travelled has no data
    error.data;
  }
  // @ts-expect-error no such error is declared
  if (error.code === 1003) return;

  const named = await safe(client.call("generate", { prompt: "hi" }));
  if (!named.ok && named.error.code === 1001)
    expectTypeOf(named.error.data.most).toEqualTypeOf<number>();

  const plain = await safe(api.now());
  // @ts-expect-error this method declares no errors
  if (!plain.ok && plain.error.code === 1001) return;
});

test("a client knows its contract, and an untyped one promises nothing", async () => {
  expectTypeOf(client.with({ timeoutMs: 5 })).toEqualTypeOf<Client<Methods>>();
  expectTypeOf(client.close()).toEqualTypeOf<Promise<void>>();
  const untyped = createClient(link);
  expectTypeOf(untyped.call("anything", [1])).toEqualTypeOf<Promise<unknown>>();
  expectTypeOf(await untyped.api.math?.add?.(1, 2)).toEqualTypeOf<unknown>();
  // biome-ignore lint/suspicious/noExplicitAny: some have no type for their methods, and say so
  const unknown = createClient<any>(link);
  expectTypeOf(await unknown.call("anything", {})).toEqualTypeOf<unknown>();
  expectTypeOf(unknown.stream("anything", {})).toEqualTypeOf<StreamResult<unknown>>();
  expectTypeOf(unknown.stream<number>("anything")).toEqualTypeOf<StreamResult<number>>();
  expectTypeOf(await unknown.notify("anything", [1])).toEqualTypeOf<void>();
  const ask = async (any: Client) => {
    expectTypeOf(await any.call("anything", {})).toEqualTypeOf<unknown>();
    expectTypeOf(await any.api.math?.add?.(1, 2)).toEqualTypeOf<unknown>();
  };
  await ask(client);
  await ask(untyped);
  await ask(unknown);
  // @ts-expect-error there is no such option
  createClient<Methods>(link, { timeout: 5 });
  // @ts-expect-error a version is one of two
  createClient<Methods>(link, { version: "3.0" });
  // @ts-expect-error a link is what a client needs
  createClient<Methods>("http://localhost");
});

const contract = {
  users: {
    get: method({
      params: z.object({ id: z.string() }),
      result: z.object({ name: z.string(), born: z.coerce.date() }),
    }),
    watch: stream({ item: z.object({ id: z.string() }) }),
  },
};

test("a client needs no handlers, only the type of the contract", async () => {
  const users = createClient<typeof contract>(link).api.users;
  expectTypeOf(await users.get({ id: "1" })).toEqualTypeOf<{ name: string; born: string }>();
  for await (const change of users.watch()) expectTypeOf(change).toEqualTypeOf<{ id: string }>();
});
