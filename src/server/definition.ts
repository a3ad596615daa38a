import { checkRule } from "../protocol/access.ts";
import type { ErrorDefinitions, MethodDefinition, StreamDefinition } from "../protocol/contract.ts";
import { RpcError } from "../protocol/errors.ts";
import { scalarType } from "./positional.ts";
import { reportedIssues } from "./validate.ts";

/** Refuses, by the name of its method, a definition that types would have refused. */
export function checkDefinition(
  definition: MethodDefinition & StreamDefinition,
  name: string,
): void {
  if (typeof definition !== "object" || definition === null) {
    throw new TypeError(`"${name}" has no definition; {} is one that declares nothing`);
  }
  for (const member of ["params", "result", "item"] as const) {
    checkSchema(definition[member], `"${name}": its ${member}`);
  }
  const scalar = definition.params && scalarType(definition.params);
  if (scalar !== undefined) {
    throw new TypeError(
      `"${name}": its params are of type ${scalar}, but JSON-RPC sends an object or a list`,
    );
  }
  if (definition.access !== undefined) checkRule(definition.access, `"${name}": its access`);
  for (const [error, { code, data }] of Object.entries(definition.errors ?? {})) {
    if (!Number.isInteger(code)) {
      throw new TypeError(`"${name}": the error ${error} needs an integer code`);
    }
    checkSchema(data, `"${name}": the data of ${error}`);
  }
}

function checkSchema(schema: unknown, what: string): void {
  if (schema === undefined) return;
  const standard = (schema as { "~standard"?: { validate?: unknown } } | null)?.["~standard"];
  if (typeof standard?.validate === "function") return;
  throw new TypeError(
    `${what} is no schema of Standard Schema, as it has no "~standard"; zod has it since 3.24`,
  );
}

/** Made once per method: `errors.NAME(data)` gives an error to throw, its data checked. */
export function errorMakers(
  definitions: ErrorDefinitions = {},
): Record<string, (data?: unknown) => RpcError> {
  const makers: Record<string, (data?: unknown) => RpcError> = Object.create(null);
  for (const [name, definition] of Object.entries(definitions)) {
    const message = definition.message ?? sentence(name);
    makers[name] = (data) => {
      const checked = definition.data?.["~standard"].validate(data) ?? { value: data };
      if (checked instanceof Promise) {
        throw new TypeError(`the data of ${name} needs a schema that validates synchronously`);
      }
      if (checked.issues !== undefined) {
        throw new TypeError(`the data of ${name} is not what it declares`, {
          cause: reportedIssues(checked.issues),
        });
      }
      return new RpcError(definition.code, message, checked.value);
    };
  }
  return makers;
}

/** PROMPT_TOO_LONG reads "Prompt too long". */
function sentence(name: string): string {
  const words = name.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
