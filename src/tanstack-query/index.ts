/** Options for TanStack Query from the methods of a client. @module callwire/tanstack-query */
export type {
  GroupQueries,
  InfiniteCall,
  MethodQueries,
  MutationCall,
  PagesOf,
  Queries,
  QueryCall,
  StreamedOptions,
  StreamQueries,
} from "./queries.ts";
export { tanstackQuery } from "./query-tree.ts";
