import type { MethodDefinition, StreamDefinition } from "../protocol/contract.ts";
import { defined } from "../protocol/record.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { definitionOf, isGeneratorFunction } from "./function-notes.ts";
import { jsonSchemaOf, type ToJsonSchema } from "./json-schema.ts";
import { type DescribedParams, describeParams } from "./method-params.ts";
import { argumentSchema, type ParameterNames, parameterNames } from "./parameter-names.ts";
import { pascal, SharedSchemas, type Slot } from "./shared-schemas.ts";
import {
  type DescribedError,
  type OpenrpcDocument,
  type OpenrpcExample,
  type OpenrpcInfo,
  type OpenrpcMethod,
  type OpenrpcServer,
  openrpcVersion,
} from "./specification.ts";

export interface DocumentOptions {
  /** Title of the API. @default "callwire server" */
  readonly title?: string;
  /** The version of the API, not of OpenRPC. @default "0.0.0" */
  readonly version?: string;
  /** Describes the API; may be Markdown. @default none */
  readonly description?: string;
  /** URL of the terms of service. @default none */
  readonly termsOfService?: string;
  /** Contact for the API. @default none */
  readonly contact?: { readonly name?: string; readonly email?: string; readonly url?: string };
  /** License of the API. @default none */
  readonly license?: { readonly name?: string; readonly url?: string };
  /** Where the methods are served. @default none */
  readonly servers?: readonly OpenrpcServer[];
  /** Converts schemas of a library that has no JSON Schema output of its own, such as valibot. @default none */
  readonly toJsonSchema?: ToJsonSchema;
  /** Separates the names of nested groups. @default "/" */
  readonly separator?: string;
}

/** A method to describe, such as a `Method` of a server. */
export interface Describable {
  readonly kind: "method" | "stream";
  /** The parameter names of a plain function. */
  readonly parameters?: ParameterNames | undefined;
  readonly definition: MethodDefinition & StreamDefinition;
}

/** Methods by name, nested or with full names. */
export interface DescribableTree {
  readonly [name: string]: Describable | DescribableTree | ((...args: never[]) => unknown);
}

/**
 * Describes methods, or `server.methods`, as an OpenRPC document; contracts without handlers too.
 * @example
 * ```ts
 * import { openrpcDocument } from "callwire/openrpc";
 *
 * const document = openrpcDocument(methods, { title: "Calculator", version: "1.0.0" });
 * console.log(document.methods.map(({ name }) => name)); // math/add, math/count, echo
 * ```
 */
export function openrpcDocument(
  methods: ReadonlyMap<string, Describable> | DescribableTree,
  options: DocumentOptions = {},
): OpenrpcDocument {
  const table = methods instanceof Map ? [...methods] : flat(methods as DescribableTree, options);
  const shared = new SharedSchemas();
  // Params first, so that results of the same type refer to the same component.
  const begun = table.map(([name, entry]) => begin(name, entry, shared, options.toJsonSchema));
  const finished = begun.map((method) => withOutputs(method, shared, options.toJsonSchema));
  const schemas = shared.finish();
  return {
    openrpc: openrpcVersion,
    info: infoOf(options),
    ...(options.servers === undefined ? undefined : { servers: options.servers }),
    methods: finished.map(methodObject),
    ...(Object.keys(schemas).length === 0 ? undefined : { components: { schemas } }),
  };
}

function infoOf(options: DocumentOptions): OpenrpcInfo {
  const { title = "callwire server", version = "0.0.0", description } = options;
  return defined({
    title,
    version,
    description,
    termsOfService: options.termsOfService,
    contact: options.contact,
    license: options.license,
  });
}

function flat(
  group: DescribableTree,
  options: DocumentOptions,
  before = "",
): (readonly [string, Describable])[] {
  return Object.entries(group).flatMap(([key, entry]) => {
    const name = before + key;
    if (typeof entry === "function") {
      const kind = isGeneratorFunction(entry) ? "stream" : "method";
      const definition = definitionOf(entry);
      return [[name, { kind, parameters: parameterNames(entry), definition }] as const];
    }
    if (typeof entry.kind === "string") return [[name, entry as Describable] as const];
    return flat(entry as DescribableTree, options, name + (options.separator ?? "/"));
  });
}

interface Begun {
  readonly name: string;
  readonly entry: Describable;
  readonly params: DescribedParams;
}

interface Finished extends Begun {
  readonly result: Slot | undefined;
  readonly item: Slot | undefined;
  readonly upload: Slot | undefined;
  readonly errors: readonly (Omit<DescribedError, "data"> & { readonly data: Slot | undefined })[];
}

function begin(
  name: string,
  entry: Describable,
  shared: SharedSchemas,
  toJsonSchema: ToJsonSchema | undefined,
): Begun {
  const { params, positional } = entry.definition;
  const place = pascal(name);
  if (params === undefined) return { name, entry, params: openParams(entry, place, shared) };
  const json = jsonSchemaOf(params, "input", toJsonSchema);
  // Arktype sorts members by name, which loses their positions.
  const keepsOrder = params["~standard"].vendor !== "arktype";
  return { name, entry, params: describeParams(json, place, shared, positional, keepsOrder) };
}

/** The params of a method without a schema, by the parameter names of its function. */
function openParams(entry: Describable, place: string, shared: SharedSchemas): DescribedParams {
  const { parameters } = entry;
  const required =
    parameters === undefined || parameters.form === "unknown" ? [] : parameters.required;
  const any = (suffix: string, schema = {}): Slot => shared.add(schema, place + suffix, "input");
  const list = namesOf(parameters).map((name) => ({
    name,
    required: required.includes(name),
    slot: any(pascal(name), argumentSchema(parameters, name)),
  }));
  if (parameters === undefined) return { structure: "either", list, whole: any("Params") };
  if (parameters.form !== "object") return { structure: "by-position", list, whole: any("Params") };
  return { structure: "by-name", list, whole: parameters.others ? any("Params") : undefined };
}

function namesOf(parameters: ParameterNames | undefined): readonly string[] {
  if (parameters?.form !== "unknown") return parameters?.names ?? [];
  return Array.from({ length: parameters.count }, (_, i) => `arg${i + 1}`);
}

function withOutputs(
  begun: Begun,
  shared: SharedSchemas,
  toJsonSchema: ToJsonSchema | undefined,
): Finished {
  const { kind, parameters, definition } = begun.entry;
  const { result, item, upload, errors = {} } = definition;
  const place = pascal(begun.name);
  const said = kind === "method" ? parameters?.result : undefined;
  const slot = (
    schema: Schema | undefined,
    suffix: string,
    direction: "input" | "output" = "output",
  ): Slot | undefined =>
    schema === undefined
      ? undefined
      : shared.add(jsonSchemaOf(schema, direction, toJsonSchema), place + suffix, direction);
  return {
    ...begun,
    result:
      said === undefined ? slot(result, "Result") : shared.add(said, `${place}Result`, "output"),
    item: slot(item, "Item"),
    upload: slot(upload, "Upload", "input"),
    errors: Object.entries(errors).map(([name, { code, message, data }]) => ({
      name,
      code,
      message: message ?? sentence(name),
      data: slot(data, `${pascal(name.toLowerCase())}Data`),
    })),
  };
}

/** PROMPT_TOO_LONG becomes "Prompt too long", as the server sends it. */
function sentence(name: string): string {
  const words = name.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function methodObject(finished: Finished): OpenrpcMethod {
  const { name, entry, params, result, item, upload, errors } = finished;
  const { kind, definition } = entry;
  const { summary, description, tags, examples, deprecated, idempotent, timeoutMs } = definition;
  const isStream = kind === "stream";
  return defined({
    name,
    summary,
    description,
    tags: tags?.map((tag) => ({ name: tag })),
    deprecated: deprecated === true ? true : undefined,
    paramStructure: params.structure,
    params: params.list.map(({ name, required, slot: { schema } }) =>
      defined({
        name,
        description: typeof schema === "object" ? schema.description : undefined,
        required,
        deprecated: typeof schema === "object" && schema.deprecated === true ? true : undefined,
        schema,
      }),
    ),
    result: isStream
      ? { name: "end", description: "Answered when the stream has ended.", schema: {} }
      : { name: "result", schema: result?.schema ?? {} },
    errors:
      errors.length === 0 ? undefined : errors.map(({ code, message }) => ({ code, message })),
    examples: examples?.map((example, i) => exampleOf(example, i, params, isStream)),
    "x-stream": isStream ? { item: item?.schema ?? {} } : undefined,
    "x-upload": upload === undefined ? undefined : { item: upload.schema },
    "x-idempotent": idempotent === true ? true : undefined,
    "x-timeout-ms": Number.isFinite(timeoutMs) ? timeoutMs : undefined,
    "x-errors":
      errors.length === 0
        ? undefined
        : errors.map(({ data, ...error }) => defined({ ...error, data: data?.schema })),
    "x-params": params.whole?.schema,
  });
}

function exampleOf(
  example: NonNullable<Describable["definition"]["examples"]>[number],
  index: number,
  { list, structure }: DescribedParams,
  isStream: boolean,
): OpenrpcExample {
  const { name, params, result } = example;
  return defined({
    name: name ?? `example ${index + 1}`,
    params: exampleParams(
      params,
      list.map((param) => param.name),
    ),
    result: isStream
      ? { name: "end", value: null }
      : result === undefined
        ? undefined
        : { name: "result", value: result },
    "x-stream": isStream && Array.isArray(result) ? { items: result } : undefined,
    "x-params": Array.isArray(params) && structure !== "by-position" ? params : undefined,
  });
}

function exampleParams(params: unknown, names: readonly string[]): OpenrpcExample["params"] {
  if (Array.isArray(params)) {
    return params.map((value: unknown, i) => ({ name: names[i] ?? `arg${i + 1}`, value }));
  }
  const given = Object.entries((params ?? {}) as Record<string, unknown>);
  const rank = (name: string): number =>
    names.includes(name) ? names.indexOf(name) : names.length;
  return given.sort(([a], [b]) => rank(a) - rank(b)).map(([name, value]) => ({ name, value }));
}
