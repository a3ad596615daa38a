import {
  type JsonSchemaObject,
  jsonSchemaOf,
  type ToJsonSchema,
} from "../../openrpc/json-schema.ts";
import {
  asSent,
  closedObject,
  type NamedArguments,
  namedArguments,
  positional,
} from "../../openrpc/named-arguments.ts";
import type { ToolHints } from "../../protocol/contract.ts";
import type { Handle } from "../../protocol/handle.ts";
import type { Method } from "../../server/method.ts";
import { type ParamHeader, paramHeaders } from "../header-values.ts";
import type { TaskSupport, ToolAnnotations, ToolDescription } from "../results.ts";
import { nestedSchema } from "./nested-schema.ts";
import { type ToolExtras, toolExtras } from "./tool.ts";
import { contentResult, dataResult, itemsResult, type ResultForm } from "./tool-result.ts";

/** A tool, and how its calls map to calls of a method. */
export interface ToolFeature {
  readonly name: string;
  /** The name under which middleware sees the call. */
  readonly method: string;
  readonly dispatch: Handle;
  readonly description: ToolDescription;
  /** Arguments that are also sent as headers. */
  readonly headers: readonly ParamHeader[];
  readonly paramsOf: NamedArguments["paramsOf"];
  readonly faultOf?: NamedArguments["faultOf"];
  readonly result: ResultForm;
  readonly taskSupport: TaskSupport;
  /** The handler starts the task itself. */
  readonly beginsTask: boolean;
  /** Its items are collected into one result. */
  readonly streams: boolean;
}

export interface ToolSettings {
  readonly dispatch: Handle;
  readonly toJsonSchema: ToJsonSchema | undefined;
  isTaken(name: string): boolean;
}

export function toolFeature(name: string, method: Method, settings: ToolSettings): ToolFeature {
  const { definition, kind } = method;
  const hints: ToolHints = typeof definition.tool === "object" ? definition.tool : {};
  const extras = toolExtras(method);
  const shown =
    hints.name === undefined
      ? toolName(name, settings.isTaken)
      : checkedToolName(hints.name, settings.isTaken);
  const { schema: inputSchema, paramsOf, faultOf } = inputOf(method, settings.toJsonSchema);
  const output = outputOf(method, extras, settings.toJsonSchema);
  const taskSupport = hints.task ?? "forbidden";
  const description: ToolDescription = {
    name: shown,
    ...(hints.title !== undefined && { title: hints.title }),
    description: descriptionOf(method, name),
    inputSchema,
    ...(output.schema !== undefined && { outputSchema: output.schema }),
    ...annotationsOf(method, hints),
    ...(taskSupport !== "forbidden" && { execution: { taskSupport } }),
    ...(extras?.icons !== undefined && { icons: extras.icons }),
    ...(extras?._meta !== undefined && { _meta: extras._meta }),
  };
  return {
    name: shown,
    method: name,
    dispatch: settings.dispatch,
    description,
    headers: paramHeaders(inputSchema),
    paramsOf,
    faultOf,
    result: output.form,
    taskSupport,
    beginsTask: extras?.beginsTask ?? false,
    streams: kind === "stream",
  };
}

function descriptionOf({ definition }: Method, name: string): string {
  const { summary, description, deprecated } = definition;
  const text = [summary, description].filter((part) => part !== undefined).join("\n\n");
  return `${deprecated === true ? "Deprecated. " : ""}${text === "" ? name : text}`;
}

function annotationsOf(
  { definition }: Method,
  hints: ToolHints,
): { readonly annotations?: ToolAnnotations } {
  const annotations: ToolAnnotations = {
    ...(hints.title !== undefined && { title: hints.title }),
    ...(hints.readOnly !== undefined && { readOnlyHint: hints.readOnly }),
    ...(hints.destructive !== undefined && { destructiveHint: hints.destructive }),
    ...(definition.idempotent !== undefined && { idempotentHint: definition.idempotent }),
    ...(hints.openWorld !== undefined && { openWorldHint: hints.openWorld }),
  };
  return Object.keys(annotations).length === 0 ? {} : { annotations };
}

/** The schema of the method decides about missing arguments. */
const asGiven: NamedArguments["paramsOf"] = (args) => args;

function inputOf(method: Method, toJsonSchema: ToJsonSchema | undefined): NamedArguments {
  const { definition, parameters } = method;
  if (parameters !== undefined) return namedArguments(parameters);
  if (definition.params === undefined) return { schema: closedObject({}), paramsOf: asSent };
  const { $schema, ...json } = jsonSchemaOf(
    definition.params,
    "input",
    toJsonSchema,
    "draft-2020-12",
  );
  // 2020-12 is the default of MCP and can be omitted; plain JSON Schema may declare another dialect.
  const schema =
    $schema === undefined || definition.params["~standard"].vendor !== "callwire"
      ? json
      : { $schema, ...json };
  if (schema.type !== "array") return { schema: { ...schema, type: "object" }, paramsOf: asGiven };
  const list = nestedSchema(`/properties/${positional}`, schema);
  return {
    schema: { type: "object", properties: { [positional]: list }, required: [positional] },
    // The method rejects anything but an array.
    paramsOf: (args = {}) => {
      const { [positional]: list } = args;
      return list === undefined || Array.isArray(list) ? list : args;
    },
  };
}

interface Output {
  readonly schema: JsonSchemaObject | undefined;
  readonly form: ResultForm;
}

function outputOf(
  method: Method,
  extras: ToolExtras | undefined,
  toJsonSchema: ToJsonSchema | undefined,
): Output {
  if (extras !== undefined) {
    const schema = extras.output && outputSchema(extras.output, toJsonSchema);
    return { schema, form: contentResult(extras.output) };
  }
  const { result, item } = method.definition;
  if (method.kind === "stream") {
    const items = item === undefined ? {} : outputSchema(item, toJsonSchema);
    const list = { type: "array", items: nestedSchema("/items", items) };
    return { schema: wrapped(list, { cutAfter }), form: itemsResult };
  }
  if (result === undefined) return { schema: undefined, form: dataResult(false) };
  const schema = outputSchema(result, toJsonSchema);
  const isObject = schema.type === "object";
  return { schema: isObject ? schema : wrapped(schema), form: dataResult(!isObject) };
}

function outputSchema(
  schema: Parameters<typeof jsonSchemaOf>[0],
  toJsonSchema: ToJsonSchema | undefined,
): JsonSchemaObject {
  const { $schema, ...json } = jsonSchemaOf(schema, "output", toJsonSchema, "draft-2020-12");
  return json;
}

/** Added to the result of a stream that was cut. */
const cutAfter: JsonSchemaObject = {
  type: "integer",
  description: "Present only if the result is incomplete: the stream was cut after this many items",
};

/** Structured content must be an object, so other results are wrapped in one. */
function wrapped(
  schema: JsonSchemaObject,
  beside: Readonly<Record<string, JsonSchemaObject>> = {},
): JsonSchemaObject {
  const result = nestedSchema("/properties/result", schema);
  return { type: "object", properties: { result, ...beside }, required: ["result"] };
}

/** What every host accepts: letters, digits, "_" and "-", at most 64 characters. */
const longest = 64;
const valid = /^[A-Za-z0-9_.-]{1,128}$/;

/** A tool name for a method: `math/add` becomes `math_add`. */
export function toolName(method: string, isTaken: (name: string) => boolean): string {
  const plain = method.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, longest) || "tool";
  if (!isTaken(plain)) return plain;
  for (let i = 2; ; i++) {
    const suffix = `_${i}`;
    const name = plain.slice(0, longest - suffix.length) + suffix;
    if (!isTaken(name)) return name;
  }
}

/** Throws if a chosen name is invalid or taken. */
function checkedToolName(name: string, isTaken: (name: string) => boolean): string {
  if (!valid.test(name)) {
    throw new TypeError(
      `"${name}" is not a valid tool name; use 1 to 128 characters of A-Z a-z 0-9 _ . -`,
    );
  }
  if (isTaken(name)) throw new TypeError(`tool "${name}" is defined twice`);
  return name;
}
