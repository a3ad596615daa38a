import { readDocument } from "./document-reading.ts";
import { literalOf } from "./generated-code.ts";
import type { JsonSchema } from "./json-schema.ts";
import { schemaLimits } from "./schema-limits.ts";
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
  /** The types of what its caller uploads, and of what it gets. */
  readonly carried: readonly (readonly [label: string, type: string])[];
  readonly errors: ReferenceTable;
  readonly examples: readonly { readonly name: string; readonly lines: readonly string[] }[];
}

export interface ReferenceTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly ReferenceCell[])[];
}

/** Plain text, code, or a description in Markdown with the limits of a value. */
export type ReferenceCell =
  | string
  | { readonly code: string }
  | { readonly about: string; readonly limits: string };

/** A shared type, as a TypeScript declaration. */
export interface ReferenceType {
  readonly name: string;
  readonly text: string;
}

export interface Reference {
  readonly document: OpenrpcDocument;
  readonly methods: readonly MethodReference[];
  readonly types: readonly ReferenceType[];
}

/** Collects the content of the reference of a document. */
export function referenceOf(document: unknown): Reference {
  const read = readDocument(document);
  const schemas = read.components?.schemas ?? {};
  const types = new TypeScriptTypes(schemas);
  return {
    document: read,
    methods: read.methods.map((method) => describe(method, types, schemas)),
    types: types.declarations().map((declaration) => {
      const text = declaration.replace(/^export (?=interface|type)/m, "");
      const [, name = ""] = /^(?:interface|type) ([\w$]+)/m.exec(text) ?? [];
      return { name, text };
    }),
  };
}

/** Methods that share all parts of their names but the last. */
export interface ReferenceGroup {
  /** Empty for methods without a group. */
  readonly name: string;
  readonly methods: readonly { readonly label: string; readonly reference: MethodReference }[];
}

/** Groups methods by their names, as the playground does. */
export function groupsOf(methods: readonly MethodReference[]): ReferenceGroup[] {
  const groups = new Map<string, { label: string; reference: MethodReference }[]>();
  for (const reference of methods) {
    const { name } = reference.method;
    const [, group = "", label = name] = /^(.+)[/.]([^/.]+)$/.exec(name) ?? [];
    const list = groups.get(group) ?? [];
    list.push({ label, reference });
    groups.set(group, list);
  }
  return Array.from(groups, ([name, list]) => ({ name, methods: list }));
}

function describe(
  method: OpenrpcMethod,
  types: TypeScriptTypes,
  schemas: Readonly<Record<string, JsonSchema>>,
): MethodReference {
  const stream = method["x-stream"];
  const upload = method["x-upload"];
  const whole = method["x-params"];
  const timeoutMs = method["x-timeout-ms"];
  const params = method.params.map(
    ({ name, schema, required, description, summary, deprecated }): ReferenceCell[] => [
      { code: name },
      { code: types.type(schema) },
      required ? "yes" : "no",
      {
        about: [deprecated ? "Deprecated." : "", description ?? summary ?? ""]
          .filter(Boolean)
          .join(" "),
        limits: schemaLimits(schema, schemas),
      },
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
    carried: [
      ...(upload === undefined ? [] : [["Upload of", types.type(upload.item)] as const]),
      stream === undefined
        ? ["Result", types.type(method.result?.schema ?? true)]
        : ["Stream of", types.type(stream.item)],
    ],
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
