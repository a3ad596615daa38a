import { readDocument } from "./document-reading.ts";
import { literalOf } from "./generated-code.ts";
import type { OpenrpcDocument, OpenrpcExample, OpenrpcMethod } from "./specification.ts";
import { TypeScriptTypes } from "./typescript-types.ts";

/** What a page about one method says, in whatever form it is written. */
export interface MethodReference {
  readonly method: OpenrpcMethod;
  /** Short remarks, such as "safe to repeat". */
  readonly remarks: readonly string[];
  /** Name, type, whether it is needed, and what it is for. */
  readonly params: readonly (readonly [string, string, string, string])[];
  readonly result: readonly [label: string, type: string];
  /** Code, name, message, and the type of the data. */
  readonly errors: readonly (readonly [string, string, string, string])[];
  readonly examples: readonly { readonly name: string; readonly lines: readonly string[] }[];
}

export interface Reference {
  readonly document: OpenrpcDocument;
  readonly methods: readonly MethodReference[];
  /** The shared types, as declarations of TypeScript. */
  readonly types: readonly string[];
}

/** Gathers what a reference of a server says. */
export function referenceOf(document: unknown): Reference {
  const read = readDocument(document);
  const types = new TypeScriptTypes(read.components?.schemas ?? {});
  return {
    document: read,
    methods: read.methods.map((method) => describe(method, types)),
    types: types
      .declarations()
      .map((declaration) => declaration.replace(/^export (?=interface|type)/m, "")),
  };
}

function describe(method: OpenrpcMethod, types: TypeScriptTypes): MethodReference {
  const stream = method["x-stream"];
  const whole = method["x-params"];
  const timeoutMs = method["x-timeout-ms"];
  const params = method.params.map(
    ({ name, schema, required, description, summary, deprecated }) =>
      [
        name,
        types.type(schema),
        required ? "yes" : "no",
        [deprecated ? "Deprecated." : "", description ?? summary ?? ""].filter(Boolean).join(" "),
      ] as const,
  );
  const named = method["x-errors"]?.map(
    ({ code, name, message, data }) =>
      [String(code), name, message, data === undefined ? "" : types.type(data)] as const,
  );
  return {
    method,
    remarks: [
      ...(method.deprecated ? ["deprecated"] : []),
      ...(method["x-idempotent"] ? ["safe to repeat"] : []),
      ...(timeoutMs === undefined ? [] : [`at most ${timeoutMs} ms`]),
      ...(method.params.length > 0 && method.paramStructure !== "either"
        ? [`params ${method.paramStructure === "by-name" ? "by name" : "by position"}`]
        : []),
      ...(method.tags ?? []).map(({ name }) => `#${name}`),
    ],
    params: whole === undefined ? params : [...params, ["(all params)", types.type(whole), "", ""]],
    result:
      stream === undefined
        ? ["Result", types.type(method.result?.schema ?? true)]
        : ["Stream of", types.type(stream.item)],
    errors:
      named ?? (method.errors ?? []).map(({ code, message }) => [String(code), "", message, ""]),
    examples: (method.examples ?? []).map((example) => ({
      name: example.name,
      lines: exampleLines(method, example),
    })),
  };
}

/** What travels in an example; items of a stream come before its end. */
function exampleLines(method: OpenrpcMethod, example: OpenrpcExample): string[] {
  const { params, result } = example;
  const given =
    example["x-params"] ??
    (method.paramStructure === "by-position"
      ? params.map(({ value }) => value)
      : Object.fromEntries(params.map(({ name, value }) => [name, value])));
  const request = {
    jsonrpc: "2.0",
    method: method.name,
    ...(params.length === 0 ? {} : { params: given }),
    id: 1,
  };
  const items = example["x-stream"]?.items ?? [];
  return [
    `--> ${literalOf(request)}`,
    ...items.map(
      (value) =>
        `<-- ${literalOf({ jsonrpc: "2.0", method: "$/stream", params: { id: 1, value } })}`,
    ),
    ...(result === undefined
      ? []
      : [`<-- ${literalOf({ jsonrpc: "2.0", result: result.value ?? null, id: 1 })}`]),
  ];
}
