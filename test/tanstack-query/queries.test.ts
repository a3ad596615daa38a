import {
  type DefaultError,
  dehydrate,
  hydrate,
  InfiniteQueryObserver,
  MutationObserver,
  QueryClient,
  QueryObserver,
} from "@tanstack/query-core";
import {
  createClient,
  createServer,
  directLink,
  method,
  type RpcError,
  silentLog,
  stream,
  topic,
  type WireError,
} from "callwire";
import { tanstackQuery } from "callwire/tanstack-query";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";
import { deferred } from "../transports/contract/wire.ts";

const task = z.object({ id: z.number(), title: z.string() });

function board() {
  const tasks = [{ id: 1, title: "one" }];
  const changes = topic<number>();
  const waiting = deferred<AbortSignal>();
  const methods = {
    tasks: {
      list: method({ result: z.array(task) }, () => tasks),
      get: method(
        {
          params: z.object({ id: z.number() }),
          result: task,
          errors: { GONE: { code: 1404 } },
        },
        ({ id }, _, errors) => {
          const found = tasks.find((one) => one.id === id);
          if (found === undefined) throw errors.GONE();
          return found;
        },
      ),
      page: method({ params: z.object({ from: z.number() }) }, ({ from }) => ({
        items: [from, from + 1],
        next: from < 4 ? from + 2 : undefined,
      })),
      create: method({ params: z.object({ title: z.string() }), result: task }, ({ title }) => {
        const made = { id: tasks.length + 1, title };
        tasks.push(made);
        return made;
      }),
      changes: stream({ item: z.number() }, (_, call) => changes.subscribe(call)),
    },
    wait: method({}, (_, { signal }) => {
      waiting.resolve(signal);
      return new Promise<void>(() => {});
    }),
    nothing: () => undefined,
    add: (a: number, b: number) => a + b,
    echo: (text: string) => text,
  };
  const server = createServer(methods, { log: silentLog });
  const rpc = tanstackQuery(createClient<typeof methods>(directLink(server)));
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  onTestFinished(() => queries.clear());
  return { rpc, queries, changes, waiting };
}

describe("queries", () => {
  test("have the types of their method, with its errors", async () => {
    const { rpc, queries } = board();
    const options = rpc.tasks.get.queryOptions({ id: 1 });
    const found = await queries.fetchQuery(options);
    expectTypeOf(found).toEqualTypeOf<{ id: number; title: string }>();
    expect(found).toEqual({ id: 1, title: "one" });
    expect(queries.getQueryData(options.queryKey)).toEqual(found);
    const gone = new QueryObserver(queries, rpc.tasks.get.queryOptions({ id: 9 }));
    type Failed = NonNullable<ReturnType<typeof gone.getCurrentResult>["error"]>;
    expectTypeOf<Failed>().not.toEqualTypeOf<DefaultError>();
    expectTypeOf<Extract<Failed, RpcError<1404, undefined>>>().not.toBeNever();
    expectTypeOf<Extract<Failed, WireError>>().not.toBeNever();
    expect((await gone.refetch()).error).toMatchObject({ code: 1404 });
    // @ts-expect-error The id is missing.
    rpc.tasks.get.queryOptions();
    // @ts-expect-error There is no such method.
    rpc.tasks.remove.queryOptions();
  });

  test("call plain functions, and methods without a result", async () => {
    const { rpc, queries } = board();
    expect(await queries.fetchQuery(rpc.add.queryOptions([2, 3]))).toBe(5);
    expect(await queries.fetchQuery(rpc.echo.queryOptions("hi"))).toBe("hi");
    expect(await queries.fetchQuery(rpc.nothing.queryOptions())).toBe(null);
  });

  test("have values in the form that the client gets", async () => {
    const day = new Date(0);
    const methods = {
      day: method({ params: z.object({ after: z.date() }) }, ({ after }) => after),
      days: stream({ item: z.date() }, () => [day]),
      nothing: method({}, () => undefined),
    };
    const link = directLink(createServer(methods, { log: silentLog }));
    const { queries } = board();
    const plain = tanstackQuery(createClient<typeof methods>(link));
    // @ts-expect-error A Date needs values: "rich".
    plain.day.queryOptions({ after: day });
    expectTypeOf(plain.days.streamedOptions().queryFn).returns.resolves.toEqualTypeOf<
      readonly string[]
    >();
    const rich = tanstackQuery(createClient<typeof methods>(link, { values: "rich" }));
    const found = await queries.fetchQuery(rich.day.queryOptions({ after: day }));
    expectTypeOf(found).toEqualTypeOf<Date>();
    expect(found).toEqual(day);
    const days = await queries.fetchQuery(rich.days.streamedOptions());
    expectTypeOf(days).toEqualTypeOf<readonly Date[]>();
    expect(days).toEqual([day]);
    const nothing = await queries.fetchQuery(rich.nothing.queryOptions());
    expectTypeOf(nothing).toEqualTypeOf<null>();
    expect(nothing).toBe(null);
  });

  test("are invalidated by the beginning of their keys", async () => {
    const { rpc, queries } = board();
    await queries.fetchQuery(rpc.tasks.list.queryOptions());
    await queries.fetchQuery(rpc.tasks.get.queryOptions({ id: 1 }));
    await queries.fetchQuery(rpc.echo.queryOptions("hi"));
    const stale = () =>
      queries
        .getQueryCache()
        .getAll()
        .filter((query) => query.state.isInvalidated)
        .map((query) => query.queryKey.slice(0, 2).join("/"));
    await queries.invalidateQueries({ queryKey: rpc.tasks.get.queryKey({ id: 2 }) });
    expect(stale()).toEqual([]);
    await queries.invalidateQueries({ queryKey: rpc.tasks.get.queryKey({ id: 1 }) });
    expect(stale()).toEqual(["tasks/get"]);
    await queries.invalidateQueries({ queryKey: rpc.tasks.queryKey() });
    expect(stale()).toEqual(["tasks/list", "tasks/get"]);
  });

  test("cancel their call when nothing observes them", async () => {
    const { rpc, queries, waiting } = board();
    const stop = new QueryObserver(queries, rpc.wait.queryOptions()).subscribe(() => {});
    const signal = await waiting.promise;
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    stop();
    await aborted;
  });

  test("load one page after the other", async () => {
    const { rpc, queries } = board();
    const options = rpc.tasks.page.infiniteQueryOptions({
      params: (from: number) => ({ from }),
      initialPageParam: 0,
      getNextPageParam: (last) => last.next,
    });
    const observer = new InfiniteQueryObserver(queries, options);
    onTestFinished(observer.subscribe(() => {}));
    await observer.refetch();
    await observer.fetchNextPage();
    await observer.fetchNextPage();
    const { data, hasNextPage } = observer.getCurrentResult();
    expect(data?.pages.map(({ items }) => items)).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    expect(hasNextPage).toBe(false);
  });

  test("that a server prefetched are hydrated in the page", async () => {
    const server = board();
    await server.queries.prefetchQuery(server.rpc.tasks.list.queryOptions());
    const sent = JSON.stringify(dehydrate(server.queries));
    const page = board();
    hydrate(page.queries, JSON.parse(sent));
    expect(page.queries.getQueryData(page.rpc.tasks.list.queryKey())).toEqual([
      { id: 1, title: "one" },
    ]);
  });
});

test("a mutation calls its method with its variables", async () => {
  const { rpc, queries } = board();
  const observer = new MutationObserver(queries, rpc.tasks.create.mutationOptions());
  const made = await observer.mutate({ title: "two" });
  expectTypeOf(made).toEqualTypeOf<{ id: number; title: string }>();
  expect(made).toEqual({ id: 2, title: "two" });
  // @ts-expect-error The title is missing.
  await expect(observer.mutate({})).rejects.toMatchObject({ code: -32602 });
});

describe("streams", () => {
  test("give their items as they arrive, up to a limit, until nothing observes them", async () => {
    const { rpc, queries, changes } = board();
    const options = rpc.tasks.changes.streamedOptions(undefined, { maxItems: 2 });
    const observer = new QueryObserver(queries, options);
    const seen: unknown[] = [];
    const third = deferred();
    const stop = observer.subscribe(({ data }) => {
      if (data !== undefined) seen.push(data);
      if (data?.includes(3)) third.resolve();
    });
    while (changes.size === 0) await new Promise(setImmediate);
    for (const n of [1, 2, 3]) changes.publish(n);
    await third.promise;
    expect(observer.getCurrentResult().data).toEqual([2, 3]);
    stop();
    while (changes.size > 0) await new Promise(setImmediate);
  });

  test("cannot have a limit that is not one", () => {
    const { rpc } = board();
    expect(() => rpc.tasks.changes.streamedOptions(undefined, { maxItems: 0 })).toThrow("maxItems");
  });
});
