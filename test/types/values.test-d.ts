import {
  type Client,
  createClient,
  type Link,
  method,
  safe,
  stream,
  type Unsendable,
} from "callwire";
import { testClient } from "callwire/testing";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const link: Link;

interface User {
  readonly id: string;
  readonly tags: readonly string[];
  readonly boss?: User;
}
interface Branch {
  at: Date;
  branches: Branch[];
}
type Id = string & { readonly brand: "Id" };
class Money {
  readonly #cents = 5n;
  readonly currency = "EUR";
  toJSON(): { cents: string; since: Date } {
    return { cents: String(this.#cents), since: new Date(0) };
  }
}

const methods = {
  user: (): User => ({ id: "1", tags: [] }),
  ids: (): [Id, ...Id[]] => ["1" as Id],
  either: (): User | "none" | 0 | null => null,
  any: () => JSON.parse("1"),
  unknown: (): unknown => 1,
  nothing: (): void => {},
  branded: method({ result: z.object({ id: z.string().brand("Id") }).brand("User") }),
  record: (): Record<string, { n: number }> => ({}),
  dates: () => ({ at: new Date(), all: [new Date()], pair: [1, new Date()] as [number, Date] }),
  keyed: () => ({ map: new Map([[1, 2]]), set: new Set([1]), bytes: new Uint8Array() }),
  missing: () => ({ a: undefined, b: 1 as number | undefined, list: [1, undefined] }),
  functions: () => ({ a: 1, run: () => 1, key: Symbol("key") }),
  money: () => [new Money(), new URL("http://localhost")] as const,
  big: () => ({ size: 1n }),
  tree: (): Branch => ({ at: new Date(), branches: [] }),
  maybe: (): number | undefined => undefined,
  ticks: stream({ item: z.date() }),
  clock: async function* () {
    yield new Date();
  },
  job: method({
    params: z.object({ name: z.string() }),
    progress: z.object({ at: z.date(), done: z.number() }),
    errors: { LATE: { code: 1001, data: z.object({ due: z.date() }) } },
  }),
  after: method({ params: z.object({ at: z.date() }) }),
  between: (from: Date, to: Date) => [from, to],
  sum: method({ params: z.object({ numbers: z.array(z.bigint()), by: z.string().optional() }) }),
  coerced: method({
    params: z.object({ at: z.coerce.date(), on: z.union([z.string(), z.date()]) }),
  }),
  lookup: method({ params: z.object({ map: z.map(z.string(), z.number()) }) }),
};
type Methods = typeof methods;

const client = createClient<Methods>(link);
const { api } = client;
const rich = createClient<Methods>(link, { values: "rich" });

test("types that JSON keeps are not touched", async () => {
  expectTypeOf(await api.user()).toEqualTypeOf<User>();
  expectTypeOf(await api.ids()).toEqualTypeOf<[Id, ...Id[]]>();
  expectTypeOf(await api.either()).toEqualTypeOf<User | "none" | 0 | null>();
  expectTypeOf(await api.any().then()).toBeAny();
  expectTypeOf(await api.unknown()).toBeUnknown();
  expectTypeOf(await api.nothing()).toBeVoid();
  expectTypeOf(await api.record()).toEqualTypeOf<Record<string, { n: number }>>();
  type Branded = z.output<typeof methods.branded.definition.result & z.ZodType>;
  expectTypeOf(await api.branded()).toExtend<{ id: string }>();
  expectTypeOf<Branded>().not.toBeNever();
});

test("results have the types that JSON makes of them", async () => {
  expectTypeOf(await api.dates()).toEqualTypeOf<{
    at: string;
    all: string[];
    pair: [number, string];
  }>();
  expectTypeOf(await api.keyed()).toEqualTypeOf<{
    map: Record<never, never>;
    set: Record<never, never>;
    bytes: Record<never, never>;
  }>();
  expectTypeOf(await api.missing()).toEqualTypeOf<{ b?: number; list: (number | null)[] }>();
  expectTypeOf(await api.functions()).toEqualTypeOf<{ a: number }>();
  expectTypeOf(await api.money()).toEqualTypeOf<
    readonly [{ cents: string; since: string }, string]
  >();
  expectTypeOf(await api.big()).toEqualTypeOf<{
    size: Unsendable<'a bigint needs values: "rich"'>;
  }>();
  const { at, branches } = await api.tree();
  expectTypeOf(at).toBeString();
  expectTypeOf(branches[0]?.branches[0]?.at).toEqualTypeOf<string | undefined>();
  expectTypeOf(await api.maybe()).toEqualTypeOf<number | null>();
  expectTypeOf(await client.call("dates")).toEqualTypeOf<{
    at: string;
    all: string[];
    pair: [number, string];
  }>();
});

test("so have items, progress and the data of errors", async () => {
  for await (const tick of api.ticks()) expectTypeOf(tick).toBeString();
  for await (const tick of client.stream("clock")) expectTypeOf(tick).toBeString();
  const outcome = await safe(
    api.job(
      { name: "a" },
      { onProgress: (value) => expectTypeOf(value).toEqualTypeOf<{ at: string; done: number }>() },
    ),
  );
  if (!outcome.ok && outcome.error.code === 1001) {
    expectTypeOf(outcome.error.data).toEqualTypeOf<{ due: string }>();
  }
  await client.call(
    "job",
    { name: "a" },
    { onProgress: (value) => expectTypeOf(value).toEqualTypeOf<{ at: string; done: number }>() },
  );
});

test("params that JSON cannot carry need rich values", () => {
  const at = new Date();
  // @ts-expect-error a Date needs values: "rich"
  api.after({ at });
  // @ts-expect-error a Date needs values: "rich"
  void client.call("after", { at });
  // @ts-expect-error a Date needs values: "rich"
  api.between(at, at);
  // @ts-expect-error a bigint needs values: "rich"
  api.sum({ numbers: [1n] });
  // @ts-expect-error a Map needs values: "rich"
  api.lookup({ map: new Map([["a", 1]]) });
  // @ts-expect-error a Date needs values: "rich", even beside a string
  api.coerced({ at: 0, on: at });
  api.sum({ numbers: [] });
  api.coerced({ at: "1970-01-01", on: "1970-01-01" });
  expectTypeOf<Parameters<typeof api.after>[0]["at"]>().toEqualTypeOf<
    Unsendable<'a Date needs values: "rich"'>
  >();
});

test("with rich values all types are as declared", async () => {
  const at = new Date();
  expectTypeOf(rich).toEqualTypeOf<Client<Methods, "rich">>();
  expectTypeOf(rich.with({ timeoutMs: 5 })).toEqualTypeOf<Client<Methods, "rich">>();
  expectTypeOf(client).toEqualTypeOf<Client<Methods>>();
  expectTypeOf(client).toEqualTypeOf<Client<Methods, "json">>();
  expectTypeOf((await rich.api.dates()).at).toEqualTypeOf<Date>();
  expectTypeOf((await rich.api.keyed()).map).toEqualTypeOf<Map<number, number>>();
  expectTypeOf(await rich.api.big()).toEqualTypeOf<{ size: bigint }>();
  expectTypeOf(await rich.call("big")).toEqualTypeOf<{ size: bigint }>();
  for await (const tick of rich.api.ticks()) expectTypeOf(tick).toEqualTypeOf<Date>();
  for await (const tick of rich.stream("clock")) expectTypeOf(tick).toEqualTypeOf<Date>();
  const [dates] = await rich.batch((b) => [b.dates()]);
  expectTypeOf(dates.at).toEqualTypeOf<Date>();
  const outcome = await safe(
    rich.api.job(
      { name: "a" },
      { onProgress: (value) => expectTypeOf(value).toEqualTypeOf<{ at: Date; done: number }>() },
    ),
  );
  if (!outcome.ok && outcome.error.code === 1001) {
    expectTypeOf(outcome.error.data).toEqualTypeOf<{ due: Date }>();
  }
  rich.api.after({ at });
  rich.api.between(at, at);
  rich.api.sum({ numbers: [1n] });
  rich.api.lookup({ map: new Map([["a", 1]]) });
  void rich.call("after", { at });
});

test("a function that takes any client takes a rich one", () => {
  const close = (any: Client): Promise<void> => any.close();
  void close(rich);
  void close(client);
});

test("a client of tests has the types of its values", () => {
  const methods = { now: method({}, () => ({ at: new Date() })) };
  const plain = testClient(methods);
  expectTypeOf(plain.api.now()).resolves.toEqualTypeOf<{ at: string }>();
  const rich = testClient(methods, { client: { values: "rich" } });
  expectTypeOf(rich.api.now()).resolves.toEqualTypeOf<{ at: Date }>();
});
