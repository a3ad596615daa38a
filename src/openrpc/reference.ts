import { readDocument } from "./document-reading.ts";
import { literalOf } from "./generated-code.ts";
import type {
  DescribedError,
  OpenrpcDocument,
  OpenrpcExample,
  OpenrpcMethod,
} from "./specification.ts";
import { TypeScriptTypes } from "./typescript-types.ts";

/** The content of the reference of one method, independent of the format. */
export interface MethodReference {
  readonly method: OpenrpcMethod;
  /** Short remarks, such as "safe to repeat". */
  readonly remarks: readonly string[];
  readonly params: ReferenceTable;
  readonly result: readonly [label: string, type: string];
  readonly errors: ReferenceTable;
  readonly examples: readonly { readonly name: string; readonly lines: readonly string[] }[];
}

export interface ReferenceTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly ReferenceCell[])[];
}

/** Plain text, or code. */
export type ReferenceCell = string | { readonly code: string };

export interface Reference {
  readonly document: OpenrpcDocument;
  readonly methods: readonly MethodReference[];
  /** The shared types, as TypeScript declarations. */
  readonly types: readonly string[];
}

/** Collects the content of the reference of a document. */
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
    ({ name, schema, required, description, summary, deprecated }): ReferenceCell[] => [
      { code: name },
      { code: types.type(schema) },
      required ? "yes" : "no",
      [deprecated ? "Deprecated." : "", description ?? summary ?? ""].filter(Boolean).join(" "),
    ],
  );
  if (whole !== undefined)
    params.push([{ code: "(all params)" }, { code: types.type(whole) }, "", ""]);
  const errors = (method["x-errors"] ?? method.errors ?? []).map(
    (error: Partial<DescribedError>): ReferenceCell[] => [
      `${error.code}`,
      { code: error.name ?? "" },
      error.message ?? "",
      { code: error.data === undefined ? "" : types.type(error.data) },
    ],
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
    params: { head: ["Param", "Type", "Required", "Description"], rows: params },
    result:
      stream === undefined
        ? ["Result", types.type(method.result?.schema ?? true)]
        : ["Stream of", types.type(stream.item)],
    errors: { head: ["Code", "Name", "Message", "Data"], rows: errors },
    examples: (method.examples ?? []).map((example) => ({
      name: example.name,
      lines: exampleLines(method, example),
    })),
  };
}

/** The messages of an example; stream items come before the reply. */
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
