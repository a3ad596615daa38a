import {
  type CallOptions,
  type Client,
  contractOptions,
  createClient,
  defineErrors,
  isRpcError,
  type Link,
  method,
  safe,
  stream,
} from "callwire";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const link: Link;

const { NOT_FOUND } = defineErrors({
  NOT_FOUND: { code: 1404, data: z.object({ id: z.string() }) },
});
const methods = {
  tasks: {
    get: method({
      params: z.object({ id: z.string() }),
      result: z.number(),
      errors: { NOT_FOUND },
    }),
    list: method({
      params: z.object({ done: z.boolean().optional() }),
      result: z.array(z.string()),
    }),
    remove: method({
      params: z.object({ id: z.string() }),
      errors: { NOT_FOUND, LOCKED: { code: 1423, data: z.string() } },
    }),
  },
  now: method({ result: z.number() }),
  free: method({ params: z.any() }),
  count: stream({ params: z.object({ to: z.number() }), item: z.number() }),
  points: method({ params: z.array(z.object({ x: z.number() })), result: z.number() }),
  ping: () => "pong",
  find: (filter: { name: string }) => filter.name,
  echo: (message: string, times?: number) => message.repeat(times ?? 1),
  block: (filter: { name: string }, at: "latest" | number) => [filter.name, at],
  merge: (first: { a: number }, second: { b: number }) => [first.a, second.b],
  update: (task: { id: string }, changes?: { name: string }) => [task.id, changes?.name],
  search: (text?: string, filter?: { done: boolean }) => [text, filter?.done],
};

const client = createClient<typeof methods>(link);
const { api } = client;
declare const options: CallOptions;

/** As `useMutation` of TanStack Query infers its types. */
declare function useMutation<Data, Variables>(given: {
  mutationFn: (
    variables: Variables,
    context: { readonly meta?: object; mutationKey: string },
  ) => Promise<Data>;
}): { readonly data: Data; readonly mutate: (variables: Variables) => void };
declare function useQuery<Data>(given: {
  queryFn: (context: { readonly queryKey: string; readonly signal: AbortSignal }) => Promise<Data>;
}): Data;

test("methods with named params are callbacks", async () => {
  const found = await Promise.all([{ id: "1" }].map(api.tasks.get));
  expectTypeOf(found).toEqualTypeOf<number[]>();
  expectTypeOf(await Promise.all(Array.from([{ name: "a" }]).map(api.find))).toEqualTypeOf<
    string[]
  >();
  const removal = useMutation({ mutationFn: api.tasks.get });
  expectTypeOf(removal.data).toEqualTypeOf<number>();
  expectTypeOf(removal.mutate).toEqualTypeOf<(variables: { id: string }) => void>();
  expectTypeOf(await Promise.resolve({ id: "1" }).then(api.tasks.get)).toEqualTypeOf<number>();
  expectTypeOf<Parameters<typeof api.tasks.get>>().toEqualTypeOf<[params: { id: string }]>();

  // @ts-expect-error the params are of another type
  [{ id: 1 }].map(api.tasks.get);
  // @ts-expect-error a method without params would be sent the context of the query
  useQuery({ queryFn: api.now });
  // @ts-expect-error so would a plain function
  useQuery({ queryFn: api.ping });
  useQuery({ queryFn: () => api.now() });
});

test("options follow the params", async () => {
  expectTypeOf(await api.tasks.get({ id: "1" }, { timeoutMs: 5 })).toEqualTypeOf<number>();
  expectTypeOf(await api.tasks.list({}, options)).toEqualTypeOf<string[]>();
  expectTypeOf(await api.tasks.list(undefined, options)).toEqualTypeOf<string[]>();
  expectTypeOf(await api.now(undefined, { onProgress: () => {} })).toEqualTypeOf<number>();
  expectTypeOf(await api.ping(undefined, options)).toEqualTypeOf<string>();
  expectTypeOf(await api.find({ name: "a" }, options)).toEqualTypeOf<string>();
  expectTypeOf(await api.free({ any: "thing" }, options)).toBeUnknown();
  for await (const n of api.count({ to: 1 }, { onGap: () => {} })) expectTypeOf(n).toBeNumber();
  await client.batch((b) => [b.tasks.get({ id: "1" }, { timeoutMs: 5 })]);

  // @ts-expect-error there is no such option
  await api.tasks.get({ id: "1" }, { timeout: 5 });
  // @ts-expect-error an index is not an option
  await api.tasks.get({ id: "1" }, 0);
  // @ts-expect-error params by position leave no place for options
  await api.echo("a", 1, options);
});

test("a plain function takes its arguments, unless one would be mistaken for options", async () => {
  expectTypeOf(await api.echo("a", 2)).toEqualTypeOf<string>();
  expectTypeOf(await api.block({ name: "a" }, "latest")).toEqualTypeOf<(string | number)[]>();
  expectTypeOf(await api.update({ id: "1" })).toEqualTypeOf<(string | null)[]>();
  expectTypeOf(await api.points({ x: 1 })).toEqualTypeOf<number>();
  expectTypeOf(await api.points()).toEqualTypeOf<number>();
  expectTypeOf(await api.search("a")).toEqualTypeOf<(string | boolean | null)[]>();
  expectTypeOf(await client.call("merge", [{ a: 1 }, { b: 2 }])).toEqualTypeOf<number[]>();

  // @ts-expect-error the second object would be taken for the options
  await api.merge({ a: 1 }, { b: 2 });
  // @ts-expect-error so would the changes
  await api.update({ id: "1" }, { name: "a" });
  // @ts-expect-error so would the second point
  await api.points({ x: 1 }, { x: 2 });
  // @ts-expect-error so would the filter
  await api.search(undefined, { done: true });
});

test("errors are narrowed by name and by code", async () => {
  const outcome = await safe(api.tasks.remove({ id: "1" }));
  if (outcome.ok) return;
  const { error } = outcome;
  if (isRpcError(error, "NOT_FOUND")) {
    expectTypeOf(error.data).toEqualTypeOf<{ id: string }>();
    expectTypeOf(error.code).toEqualTypeOf<1404>();
  } else if (isRpcError(error, 1423)) {
    expectTypeOf(error.data).toEqualTypeOf<string>();
  }
  // @ts-expect-error no such error is declared
  isRpcError(error, "GONE");

  const thrown: unknown = error;
  if (isRpcError(thrown, "NOT_FOUND")) expectTypeOf(thrown.data).toBeUnknown();
});

test("a contract at run time is the type of the methods too", async () => {
  const known = createClient(link, contractOptions(methods));
  expectTypeOf(known).toEqualTypeOf<typeof client>();
  expectTypeOf(await known.api.tasks.get({ id: "1" })).toEqualTypeOf<number>();
  const rich = createClient(link, contractOptions(methods, { values: "rich", timeoutMs: 5 }));
  expectTypeOf(rich).toEqualTypeOf<Client<typeof methods, "rich">>();

  // @ts-expect-error there is no such option
  contractOptions(methods, { timeout: 5 });
  // @ts-expect-error the options are for other methods
  createClient<{ other: () => void }>(link, contractOptions(methods));
});
