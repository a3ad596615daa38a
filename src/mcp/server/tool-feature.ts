import {
  type JsonSchemaObject,
  jsonSchemaOf,
  type ToJsonSchema,
} from "../../openrpc/json-schema.ts";
import { argumentSchema, type ParameterNames } from "../../openrpc/parameter-names.ts";
import type { ToolHints } from "../../protocol/contract.ts";
import type { Handle } from "../../protocol/handle.ts";
import type { Params } from "../../protocol/message.ts";
import type { Method } from "../../server/method.ts";
import { type ParamHeader, paramHeaders } from "../header-values.ts";
import { jsonSchemaIssues } from "../json-schema.ts";
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
  readonly paramsOf: (args: Readonly<Record<string, unknown>> | undefined) => Params | undefined;
  /** Checks arguments that the method itself does not check; returns an error message. */
  readonly faultOf?: ((args: Readonly<Record<string, unknown>>) => string | undefined) | undefined;
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

interface ToolInput {
  readonly schema: JsonSchemaObject;
  readonly paramsOf: ToolFeature["paramsOf"];
  readonly faultOf?: ToolFeature["faultOf"];
}

const asSent: ToolFeature["paramsOf"] = (args = {}) => args;

/** The schema of the method decides about missing arguments. */
const asGiven: ToolFeature["paramsOf"] = (args) => args;

/** The argument that holds params that are not an object. */
const positional = "args";

function inputOf(method: Method, toJsonSchema: ToJsonSchema | undefined): ToolInput {
  const { definition, parameters } = method;
  if (parameters !== undefined) return plainInput(parameters);
  if (definition.params === undefined) return { schema: closed({}), paramsOf: asSent };
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

/** An object without further members; strict clients reject a schema that does not say so. */
function closed(
  properties: Readonly<Record<string, JsonSchemaObject>>,
  required: readonly string[] = [],
): JsonSchemaObject {
  return { type: "object", properties, required, additionalProperties: false };
}

function plainInput(parameters: ParameterNames): ToolInput {
  if (parameters.form === "unknown") return arrayInput(parameters.least);
  const { form, names, required } = parameters;
  const properties = Object.fromEntries(
    names.map((name) => [name, argumentSchema(parameters, name)]),
  );
  const known = form === "object" && parameters.others ? undefined : names;
  const typeFault = typeFaultOf({ type: "object", properties });
  return {
    schema:
      known === undefined ? { type: "object", properties, required } : closed(properties, required),
    paramsOf:
      form === "object"
        ? asSent
        : (args = {}) => names.map((name) => (Object.hasOwn(args, name) ? args[name] : undefined)),
    faultOf: (args) => argumentFault(args, known, required) ?? typeFault(args),
  };
}

/** For a function whose argument names are unknown: one array of all arguments. */
function arrayInput(least: number): ToolInput {
  const names = [positional];
  const required = least === 0 ? [] : names;
  const list = { type: "array", ...(least > 0 && { minItems: least }) };
  return {
    schema: closed({ [positional]: list }, required),
    paramsOf: ({ [positional]: given = [] } = {}) => given as unknown[],
    faultOf: (args) => {
      const { [positional]: given = [] } = args;
      const fault = argumentFault(args, names, required);
      if (fault !== undefined) return fault;
      if (!Array.isArray(given))
        return `"${positional}" must be an array of the arguments, in order`;
      return given.length < least
        ? `"${positional}" must have at least ${least} arguments`
        : undefined;
    },
  };
}

/** A function accepts any arguments, but an agent should learn that it forgot one. */
function argumentFault(
  args: Readonly<Record<string, unknown>>,
  names: readonly string[] | undefined,
  required: readonly string[],
): string | undefined {
  const missing = required.find((name) => !Object.hasOwn(args, name));
  if (missing !== undefined) return `the argument "${missing}" is missing`;
  const unknown = Object.keys(args).find((name) => names?.includes(name) === false);
  return unknown === undefined ? undefined : `there is no argument "${unknown}"`;
}

/** Checks the types that the source of the function declares. */
function typeFaultOf(schema: JsonSchemaObject): NonNullable<ToolFeature["faultOf"]> {
  const issuesOf = jsonSchemaIssues(schema);
  return (args) => {
    const [issue] = issuesOf(args);
    return issue && `the argument "${issue.path.join(".")}" ${issue.message}`;
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
