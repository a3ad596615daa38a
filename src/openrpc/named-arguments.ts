import type { Params } from "../protocol/message.ts";
import type { JsonSchemaObject } from "./json-schema.ts";
import { jsonSchemaIssues } from "./json-schema-check.ts";
import { argumentSchema, type ParameterNames } from "./parameter-names.ts";

/** How a method is called with an object of its arguments, as agents do. */
export interface NamedArguments {
  readonly schema: JsonSchemaObject;
  readonly paramsOf: (args: Readonly<Record<string, unknown>> | undefined) => Params | undefined;
  /** Checks arguments that the method itself does not check; returns an error message. */
  readonly faultOf?: ((args: Readonly<Record<string, unknown>>) => string | undefined) | undefined;
}

export const asSent: NamedArguments["paramsOf"] = (args = {}) => args;

/** The argument that holds params that are not an object. */
export const positional = "args";

/** An object without further members; strict clients reject a schema that does not say so. */
export function closedObject(
  properties: Readonly<Record<string, JsonSchemaObject>>,
  required: readonly string[] = [],
): JsonSchemaObject {
  return { type: "object", properties, required, additionalProperties: false };
}

/** Calls a plain function by the names of its arguments, and checks them, which the function does not. */
export function namedArguments(parameters: ParameterNames): NamedArguments {
  if (parameters.form === "unknown") return arrayInput(parameters.least);
  const { form, names, required } = parameters;
  const properties = Object.fromEntries(
    names.map((name) => [name, argumentSchema(parameters, name)]),
  );
  const known = form === "object" && parameters.others ? undefined : names;
  const typeFault = typeFaultOf({ type: "object", properties });
  return {
    schema:
      known === undefined
        ? { type: "object", properties, required }
        : closedObject(properties, required),
    paramsOf:
      form === "object"
        ? asSent
        : (args = {}) => names.map((name) => (Object.hasOwn(args, name) ? args[name] : undefined)),
    faultOf: (args) => argumentFault(args, known, required) ?? typeFault(args),
  };
}

/** For a function whose argument names are unknown: one array of all arguments. */
function arrayInput(least: number): NamedArguments {
  const names = [positional];
  const required = least === 0 ? [] : names;
  const list = { type: "array", ...(least > 0 && { minItems: least }) };
  return {
    schema: closedObject({ [positional]: list }, required),
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
function typeFaultOf(schema: JsonSchemaObject): NonNullable<NamedArguments["faultOf"]> {
  const issuesOf = jsonSchemaIssues(schema);
  return (args) => {
    const [issue] = issuesOf(args);
    return issue && `the argument "${issue.path.join(".")}" ${issue.message}`;
  };
}
