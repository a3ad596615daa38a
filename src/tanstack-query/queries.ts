import type { DataTag, MutationOptions, QueryKey, QueryOptions } from "@tanstack/query-core";
import type { CallOptions } from "../client/outgoing-call.ts";
import type { Callable, DeclaredErrors, StreamOf } from "../protocol/contract.ts";
import type { WireError } from "../protocol/errors.ts";

export type { QueryClient, QueryKey } from "@tanstack/query-core";

/** The methods of a client as makers of options: the same tree, with `queryOptions` and the like at each method. */
export type Queries<M> = {
  readonly [Name in keyof M]: M[Name] extends Callable<infer Types>
    ? Types["result"] extends StreamOf<infer Item>
      ? StreamQueries<Types["params"], Item>
      : MethodQueries<Types["params"], Types["result"], Types["errors"]>
    : M[Name] extends (...args: infer Args) => infer Result
      ? Result extends AsyncIterable<infer Item> | Generator<infer Item>
        ? StreamQueries<PlainParams<Args>, Item>
        : MethodQueries<PlainParams<Args>, Awaited<Result>, Record<never, never>>
      : Queries<M[Name]>;
} & GroupQueries;

/** The params of a plain function: its argument, or all of them as a tuple. */
type PlainParams<Args extends readonly unknown[]> = Args extends readonly []
  ? undefined
  : Args extends readonly [unknown?]
    ? Args[0]
    : Args;

/** Params may be left out if they may be undefined. */
type Given<Params> = undefined extends Params ? [params?: Params] : [params: Params];

type Failure<Errors> = DeclaredErrors<Errors> | WireError;

/** A group of methods. */
export interface GroupQueries {
  /** The beginning of the keys of all methods of the group: `invalidateQueries({ queryKey: rpc.tasks.queryKey() })`. */
  queryKey(): QueryKey;
}

/** Options of a query; add others by spreading: `useQuery({ ...options, staleTime: 5_000 })`. */
export type QueryCall<Result, Failed> = QueryOptions<Result, Failed, Result, QueryKey> & {
  readonly queryKey: DataTag<QueryKey, Result, Failed>;
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Result>;
};

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
export interface MethodQueries<Params, Result, Errors> {
  /** The key of a query with these params, or the beginning of the keys of all its queries. */
  queryKey(params?: Params): DataTag<QueryKey, Result, Failure<Errors>>;
  /** Calls the method; the call is cancelled if no component uses it any more. */
  queryOptions(...params: Given<Params>): QueryCall<Result, Failure<Errors>>;
  /** Calls the method for one page after the other. */
  infiniteQueryOptions<Page>(pages: PagesOf<Params, Result, Page>): InfiniteCall<Result, Page>;
  /** Calls the method when `mutate` is called with its params. */
  mutationOptions(): MutationCall<Params, Result, Failure<Errors>>;
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
