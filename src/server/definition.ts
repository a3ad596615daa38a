import { checkRule } from "../protocol/access.ts";
import type { Context } from "../protocol/context.ts";
import type {
  ErrorDefinition,
  ErrorDefinitions,
  MethodDefinition,
  MethodLimits,
  StreamDefinition,
} from "../protocol/contract.ts";
import { RpcError } from "../protocol/errors.ts";
import { checkMembers } from "../protocol/known-members.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import type { Method } from "./method.ts";
import { scalarType } from "./positional.ts";
import { reportedIssues } from "./validate.ts";

// Records, so that the compiler reports a missing member.
const described: Record<keyof MethodDefinition & keyof StreamDefinition, true> = {
  params: true,
  errors: true,
  progress: true,
  upload: true,
  access: true,
  positional: true,
  idempotent: true,
  timeoutMs: true,
  limits: true,
  compress: true,
  tool: true,
  summary: true,
  description: true,
  examples: true,
  tags: true,
  deprecated: true,
};
const limits: Record<keyof MethodLimits, true> = {
  maxMessageBytes: true,
  maxFiles: true,
  maxFileBytes: true,
};
const errorMembers: Record<keyof ErrorDefinition, true> = { code: true, message: true, data: true };
const known = {
  method: [...Object.keys(described), "result"],
  stream: [...Object.keys(described), "item"],
  limits: Object.keys(limits),
  error: Object.keys(errorMembers),
};

/** Rejects an invalid definition, and names its method. */
export function checkDefinition({ definition, kind }: Method, name: string): void {
  if (typeof definition !== "object" || definition === null) {
    throw new TypeError(`"${name}" has no definition; pass {} to declare nothing`);
  }
  checkMembers(definition, known[kind], `"${name}"`);
  checkMembers(definition.limits ?? {}, known.limits, `"${name}": limits`);
  for (const member of ["params", "result", "item", "progress", "upload"] as const) {
    checkSchema(definition[member], `"${name}": ${member}`);
  }
  const scalar = definition.params && scalarType(definition.params);
  if (scalar !== undefined) {
    throw new TypeError(`"${name}": params must be an object or an array, not of type ${scalar}`);
  }
  if (definition.access !== undefined) checkRule(definition.access, `"${name}": access`);
  for (const [error, declared] of Object.entries(definition.errors ?? {})) {
    checkMembers(declared, known.error, `"${name}": the error ${error}`);
    const { code, data } = declared;
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
    `${what} must be a Standard Schema, with a "~standard" member; zod has it since 3.24`,
  );
}

/** Created once per method: `errors.NAME(data)` returns an error to throw, with validated data. */
export function errorMakers(
  definitions: ErrorDefinitions = {},
): Record<string, (data?: unknown) => RpcError> {
  const makers: Record<string, (data?: unknown) => RpcError> = Object.create(null);
  for (const [name, definition] of Object.entries(definitions)) {
    const message = definition.message ?? sentence(name);
    makers[name] = (data) => {
      const checked = checkedNow(definition.data, data, `data of ${name}`);
      const error = new RpcError(definition.code, message, checked);
      error.declared = name;
      return error;
    };
  }
  return makers;
}

/** Reports progress that matches the schema; anything else is a fault of the handler, and is thrown. */
export function checkProgress(context: Context, schema: Schema): void {
  const report = context.progress.bind(context);
  context.progress = (value) => report(checkedNow(schema, value, "progress"));
}

/** Validates a value that is needed at once. */
function checkedNow(schema: Schema | undefined, value: unknown, what: string): unknown {
  const checked = schema?.["~standard"].validate(value) ?? { value };
  if (checked instanceof Promise) {
    throw new TypeError(`the ${what} needs a schema that validates synchronously`);
  }
  if (checked.issues !== undefined) {
    throw new TypeError(`the ${what} does not match its schema`, {
      cause: reportedIssues(checked.issues),
    });
  }
  return checked.value;
}

/** PROMPT_TOO_LONG reads "Prompt too long". */
function sentence(name: string): string {
  const words = name.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
