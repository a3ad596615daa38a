import type { Client } from "../client/client.ts";
import type { Values } from "../protocol/json-value.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Params } from "../protocol/message.ts";
import type { PagesOf, Queries, QueryClient, QueryKey, StreamedOptions } from "./queries.ts";

/** What a query function is given. */
interface QueryContext {
  readonly client: QueryClient;
  readonly queryKey: QueryKey;
  readonly signal: AbortSignal;
  readonly pageParam?: unknown;
}

/**
 * Makes options for TanStack Query, in React, Vue, Solid, Svelte and Angular, from the methods of a client. Keys are the
 * names of groups and method, then the params, so that they can be invalidated by their beginning.
 * @example
 * ```ts
 * import { QueryClient } from "@tanstack/query-core";
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 * import { tanstackQuery } from "callwire/tanstack-query";
 *
 * const rpc = tanstackQuery(createClient<typeof methods>(httpLink("/rpc")));
 * const queries = new QueryClient();
 * const sum = await queries.fetchQuery(rpc.math.add.queryOptions({ a: 2, b: 3 }));
 * await queries.invalidateQueries({ queryKey: rpc.math.queryKey() });
 * ```
 */
export function tanstackQuery<M, V extends Values = "json">(
  client: Client<M, V>,
  separator = "/",
): Queries<M, V> {
  return node(client, separator, []) as Queries<M, V>;
}

function node(client: Client, separator: string, path: readonly string[]): object {
  const operations = new Map(Object.entries(operationsOf(client, path.join(separator), path)));
  const children = new Map<string, object>();
  return new Proxy(
    {},
    {
      get(_, key) {
        if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
        const known = operations.get(key) ?? children.get(key);
        if (known !== undefined) return known;
        const child = node(client, separator, [...path, key]);
        children.set(key, child);
        return child;
      },
    },
  );
}

function operationsOf(client: Client, method: string, path: readonly string[]) {
  const call = (params: unknown, signal?: AbortSignal): Promise<unknown> =>
    client.call(method, sent(params), signal === undefined ? {} : { signal });
  return {
    queryKey: (params?: unknown): QueryKey => keyOf(path, params),
    queryOptions: (params?: unknown) => ({
      queryKey: keyOf(path, params),
      queryFn: ({ signal }: QueryContext) => orNull(call(params, signal)),
    }),
    infiniteQueryOptions: ({ params, ...pages }: PagesOf<unknown, unknown, unknown>) => ({
      ...pages,
      queryKey: [...path, { pages: params(pages.initialPageParam) }],
      queryFn: ({ signal, pageParam }: QueryContext) => orNull(call(params(pageParam), signal)),
    }),
    mutationOptions: () => ({
      mutationKey: [...path],
      mutationFn: (params: unknown) => call(params),
    }),
    streamedOptions: (params?: unknown, { maxItems, ...options }: StreamedOptions = {}) => {
      const most = limitOf("maxItems", maxItems, 1000);
      return {
        queryKey: keyOf(path, params),
        queryFn: async ({ client: queries, queryKey, signal }: QueryContext) => {
          let items: readonly unknown[] = [];
          for await (const item of client.stream(method, sent(params), { ...options, signal })) {
            items = [...items, item].slice(-most);
            queries.setQueryData(queryKey, items);
          }
          return items;
        },
      };
    },
  };
}

/** Params are a member of an object, which matches the beginning of a key only if they are equal. */
function keyOf(path: readonly string[], params: unknown): QueryKey {
  return params === undefined ? [...path] : [...path, { params }];
}

/** A query must have data, and a method may have no result. */
async function orNull(result: Promise<unknown>): Promise<unknown> {
  return (await result) ?? null;
}

/** The argument of a plain function that is not an object becomes the only one of its list. */
function sent(params: unknown): Params | undefined {
  if (params === undefined) return undefined;
  return (typeof params === "object" && params !== null ? params : [params]) as Params;
}
