/** Long-running work, such as the tasks of A2A and MCP, and where it is stored. @module callwire/work */
export { MemoryWorkStore, type MemoryWorkStoreOptions } from "./memory-store.ts";
export type {
  WorkPage,
  WorkPhase,
  WorkPlace,
  WorkQuery,
  WorkRecord,
  WorkStore,
} from "./work-store.ts";
