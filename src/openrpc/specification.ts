import type { JsonSchema } from "./json-schema.ts";

/** The newest version that `@open-rpc/meta-schema` knows; documents of it are valid for 1.4 as well. */
export const openrpcVersion = "1.3.2";

/** An OpenRPC document (spec.open-rpc.org), as far as callwire writes and reads it. */
export interface OpenrpcDocument {
  readonly openrpc: string;
  readonly info: OpenrpcInfo;
  readonly servers?: readonly OpenrpcServer[];
  readonly methods: readonly OpenrpcMethod[];
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonSchema>> };
}

export interface OpenrpcInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

export interface OpenrpcServer {
  readonly url: string;
  readonly name?: string;
  readonly summary?: string;
  readonly description?: string;
}

export interface OpenrpcMethod {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly { readonly name: string }[];
  readonly paramStructure?: "by-name" | "by-position" | "either";
  readonly params: readonly ContentDescriptor[];
  readonly result?: ContentDescriptor;
  readonly errors?: readonly { readonly code: number; readonly message: string }[];
  readonly examples?: readonly OpenrpcExample[];
  readonly deprecated?: boolean;
  /** The method streams; its items look like this. */
  readonly "x-stream"?: { readonly item: JsonSchema };
  /** Running it twice is the same as once. */
  readonly "x-idempotent"?: boolean;
  /** The longest run that the server allows. */
  readonly "x-timeout-ms"?: number;
  /** The errors again, with their names and what their data looks like. */
  readonly "x-errors"?: readonly DescribedError[];
  /** All params as one value, where the list of params does not say everything. */
  readonly "x-params"?: JsonSchema;
}

export interface DescribedError {
  readonly name: string;
  readonly code: number;
  readonly message: string;
  readonly data?: JsonSchema;
}

export interface ContentDescriptor {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly deprecated?: boolean;
  readonly schema: JsonSchema;
}

export interface OpenrpcExample {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly value: unknown }[];
  readonly result?: { readonly name: string; readonly value: unknown };
  readonly "x-stream"?: { readonly items: readonly unknown[] };
  /** The params as they are sent, where the method takes them by name too but these go by position. */
  readonly "x-params"?: readonly unknown[];
}
