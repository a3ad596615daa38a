import type { JsonSchema } from "./json-schema.ts";

/** The newest version that `@open-rpc/meta-schema` supports; its documents are also valid for 1.4. */
export const openrpcVersion = "1.3.2";

/** An OpenRPC document (spec.open-rpc.org), with the members that callwire uses. */
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
  /** The method streams items with this schema. */
  readonly "x-stream"?: { readonly item: JsonSchema };
  /** The caller sends items with this schema while the call runs. */
  readonly "x-upload"?: { readonly item: JsonSchema };
  /** Repeating the call has no further effect. */
  readonly "x-idempotent"?: boolean;
  /** The timeout of the server, in milliseconds. */
  readonly "x-timeout-ms"?: number;
  /** The errors again, with their names and the schemas of their data. */
  readonly "x-errors"?: readonly DescribedError[];
  /** All params as one value, if the list of params does not describe them completely. */
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
  /** The params by position, if the method also takes them by name. */
  readonly "x-params"?: readonly unknown[];
}
