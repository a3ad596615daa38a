import { jsonSchema } from "callwire/mcp";
import { jsonLine } from "../terminal.ts";

type Schema = Parameters<typeof jsonSchema>[0];

/** The typed value, or its fault, or neither if the field is left out. */
export interface Reading {
  readonly value?: unknown;
  readonly fault?: string | undefined;
}

export interface Field {
  readonly name: string;
  readonly about: readonly string[];
  readonly question: string;
  read(typed: string): Promise<Reading>;
}

interface Choice {
  readonly value: unknown;
  readonly title: string;
}

export function fieldsOf({ properties = {}, required = [] }: Schema): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    typeof schema === "object" ? [fieldOf(name, schema, required.includes(name))] : [],
  );
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field {
  const { title = name, description, type, items } = schema;
  const choices = choicesIn(type === "array" ? items : schema);
  const hasDefault = Object.hasOwn(schema, "default");
  const hints = [
    kindOf(schema, choices),
    ...(hasDefault ? [`default ${JSON.stringify(schema.default)}`] : []),
    ...(hasDefault || isRequired ? [] : ["optional"]),
  ];
  return {
    name,
    about: [
      ...(description === undefined ? [] : [String(description)]),
      ...choices.map((choice, i) => `  ${i + 1}. ${choice.title}`),
    ],
    question: `${title} (${hints.join(", ")}): `,
    async read(typed) {
      if (typed === "") return isRequired && !hasDefault ? { fault: "is required" } : {};
      const reading = meaningOf(typed, schema, choices);
      if (reading.fault !== undefined) return reading;
      const fault = await faultOf(reading.value, schema);
      return fault === undefined ? reading : { fault };
    },
  };
}

function kindOf({ type, format }: Schema, choices: readonly Choice[]): string {
  if (type === "array") return "comma-separated numbers";
  if (choices.length > 0) return "a number from the list";
  if (type === "boolean") return "y or n";
  if (type === "integer") return "a whole number";
  if (type === "number") return "a number";
  return typeof format === "string" ? format : "text";
}

/** The choices of a field, in all forms that MCP allows. */
function choicesIn(schema: unknown): readonly Choice[] {
  const { enum: values, enumNames, oneOf, anyOf } = (schema ?? {}) as Record<string, unknown>;
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? (enumNames as unknown[]) : [];
    return values.map((value, i) => ({ value, title: titleOf(names[i] ?? value) }));
  }
  const named = oneOf ?? anyOf;
  if (!Array.isArray(named)) return [];
  return (named as { readonly const?: unknown; readonly title?: unknown }[]).map((each) => ({
    value: each.const,
    title: titleOf(each.title ?? each.const),
  }));
}

/** Values may be of any type, even objects without toString. */
function titleOf(value: unknown): string {
  return typeof value === "string" ? value : jsonLine(value);
}

function meaningOf(typed: string, { type }: Schema, choices: readonly Choice[]): Reading {
  if (type === "array") {
    const chosen = typed.split(",").map((part) => choiceOf(part.trim(), choices));
    return (
      chosen.find(({ fault }) => fault !== undefined) ?? { value: chosen.map((each) => each.value) }
    );
  }
  if (choices.length > 0) return choiceOf(typed, choices);
  if (type === "boolean") {
    if (/^(y|yes|true)$/i.test(typed)) return { value: true };
    return /^(n|no|false)$/i.test(typed) ? { value: false } : { fault: "must be y or n" };
  }
  if (type !== "integer" && type !== "number") return { value: typed };
  const value = Number(typed);
  return Number.isFinite(value) ? { value } : { fault: "must be a number" };
}

function choiceOf(typed: string, choices: readonly Choice[]): Reading {
  const found =
    choices.find(({ value, title }) => typed === value || typed === title) ??
    (/^\d{1,4}$/.test(typed) ? choices[Number(typed) - 1] : undefined);
  return found === undefined
    ? { fault: `must be a number from 1 to ${choices.length}` }
    : { value: found.value };
}

async function faultOf(value: unknown, schema: Schema): Promise<string | undefined> {
  try {
    const { issues } = await jsonSchema(schema)["~standard"].validate(value);
    return issues?.[0]?.message;
  } catch {
    // Such as an invalid pattern; the server validates the answer anyway.
    return undefined;
  }
}
