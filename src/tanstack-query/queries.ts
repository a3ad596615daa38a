import type { DataTag, MutationOptions, QueryKey, QueryOptions } from "@tanstack/query-core";
import type { IsOpen, TypesOf } from "../client/contract.ts";
import type { CallOptions } from "../client/outgoing-call.ts";
import type { Callable, DeclaredErrors, StreamOf } from "../protocol/contract.ts";
import type { WireError } from "../protocol/errors.ts";
import type { Received, Sent, Values } from "../protocol/json-value.ts";

export type { QueryClient, QueryKey } from "@tanstack/query-core";

/** The methods of a client as makers of options: the same tree, with `queryOptions` and the like at each method. */
export type Queries<M, V extends Values = "json"> = {
  readonly [Name in keyof M]: M[Name] extends Callable<infer Types>
    ? EntryQueries<Types["params"], Types["result"], DeclaredErrors<Types["errors"], V>, V>
    : M[Name] extends (...args: infer Args) => unknown
      ? EntryQueries<
          PlainParams<Args>,
          TypesOf<M[Name]>["result"],
          DeclaredErrors<Record<never, never>, V>,
          V
        >
      : Queries<M[Name], V>;
} & GroupQueries;

/** With the types of values as they are sent and received. */
type EntryQueries<Params, Result, Failed, V extends Values> =
  IsOpen<Result> extends true
    ? MethodQueries<Sent<Params, V>, Result, Failed>
    : Result extends StreamOf<infer Item>
      ? StreamQueries<Sent<Params, V>, Received<Item, V>>
      : MethodQueries<Sent<Params, V>, Received<Result, V>, Failed>;

/** The params of a plain function: its argument, or all of them as a tuple. */
type PlainParams<Args extends readonly unknown[]> = Args extends readonly []
  ? undefined
  : Args extends readonly [unknown?]
    ? Args[0]
    : Args;

/** Params may be left out if they may be undefined. */
type Given<Params> = undefined extends Params ? [params?: Params] : [params: Params];

/** A query must have data, so that no result is null. */
type Data<Result> =
  IsOpen<Result> extends true
    ? Result
    : [Extract<Result, undefined>] extends [never]
      ? Result
      : Exclude<Result, undefined> | null;

/** A group of methods. */
export interface GroupQueries {
  /** The beginning of the keys of all methods of the group: `invalidateQueries({ queryKey: rpc.tasks.queryKey() })`. */
  queryKey(): QueryKey;
}

/** Options of a query; add others by spreading: `useQuery({ ...options, staleTime: 5_000 })`. */
export interface QueryCall<Result, Failed> {
  readonly queryKey: DataTag<QueryKey, Result, Failed>;
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Result>;
  /** Never set: TanStack Query infers the type of errors from it. */
  readonly retry?: NonNullable<QueryOptions<Result, Failed>["retry"]>;
}

/** How the pages of an infinite query are asked for. */
export interface PagesOf<Params, Result, Page> {
  /** The params of a page. */
  readonly params: (page: Page) => Params;
  /** The first page. */
  readonly initialPageParam: Page;
  /** The page after the last one; undefined or null if there is none. */
  readonly getNextPageParam: (
    last: Result,
    all: readonly Result[],
    lastPage: Page,
  ) => Page | undefined | null;
}

/** Options of an infinite query. */
export interface InfiniteCall<Result, Page> {
  readonly queryKey: QueryKey;
  readonly queryFn: (context: {
    readonly signal: AbortSignal;
    readonly pageParam: unknown;
  }) => Promise<Result>;
  readonly initialPageParam: Page;
  readonly getNextPageParam: (
    last: Result,
    all: Result[],
    lastPage: Page,
  ) => Page | undefined | null;
}

/** Options of a mutation. */
export type MutationCall<Params, Result, Failed> = MutationOptions<
  Result,
  Failed,
  undefined extends Params ? Params | undefined | void : Params
> & {
  readonly mutationKey: QueryKey;
  readonly mutationFn: (params: Params) => Promise<Result>;
};

/** A method. */
export interface MethodQueries<Params, Result, Failed> {
  /** The key of a query with these params, or the beginning of the keys of all its queries. */
  queryKey(params?: Params): DataTag<QueryKey, Data<Result>, Failed | WireError>;
  /** Calls the method; the call is cancelled when no component uses it. */
  queryOptions(...params: Given<Params>): QueryCall<Data<Result>, Failed | WireError>;
  /** Calls the method for one page after the other. */
  infiniteQueryOptions<Page>(
    pages: PagesOf<Params, Data<Result>, Page>,
  ): InfiniteCall<Data<Result>, Page>;
  /** Calls the method when `mutate` is called with its params. */
  mutationOptions(): MutationCall<Params, Result, Failed | WireError>;
}

export interface StreamedOptions extends CallOptions {
  /** Most items that are kept; older ones are dropped, so that a subscription cannot fill memory. @default 1000 */
  readonly maxItems?: number;
}

/** A method that streams. */
export interface StreamQueries<Params, Item> {
  /** The key of a query with these params, or the beginning of the keys of all its queries. */
  queryKey(params?: Params): DataTag<QueryKey, readonly Item[], WireError>;
  /** Reads the stream while a component uses it; the data are the items that have come. */
  streamedOptions(
    ...args: undefined extends Params
      ? [params?: Params, options?: StreamedOptions]
      : [params: Params, options?: StreamedOptions]
  ): QueryCall<readonly Item[], WireError>;
}
