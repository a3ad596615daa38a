/** OpenRPC: documents that describe methods, and reference pages and clients made from them. @module callwire/openrpc */
export { declaredValues, naturalJson } from "./declared-values.ts";
export {
  type Describable,
  type DescribableTree,
  type DocumentOptions,
  openrpcDocument,
} from "./document.ts";
export { type ChangeKind, compareDocuments, type DocumentChange } from "./document-comparison.ts";
export { type ReadOptions, readDocument } from "./document-reading.ts";
export { htmlReference } from "./html.ts";
export {
  componentOf,
  type Direction,
  type JsonSchema,
  type JsonSchemaObject,
  type ToJsonSchema,
} from "./json-schema.ts";
export { markdownReference } from "./markdown.ts";
export { type MarkdownBlock, type MarkdownSpan, readMarkdown } from "./markdown-reading.ts";
export { pythonClient } from "./python.ts";
export { hasRichValues } from "./rich-schema.ts";
export { schemaLimits } from "./schema-limits.ts";
export type {
  ContentDescriptor,
  DescribedError,
  OpenrpcDocument,
  OpenrpcExample,
  OpenrpcInfo,
  OpenrpcMethod,
  OpenrpcServer,
} from "./specification.ts";
export { typescriptClient } from "./typescript.ts";
