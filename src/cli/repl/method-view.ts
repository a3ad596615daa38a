import { printable } from "callwire";
import type { JsonSchema, OpenrpcMethod } from "callwire/openrpc";
import { columns } from "../command.ts";
import { jsonLine } from "../json-view.ts";

/** What a document tells of a method, in lines. */
export function describeMethod(method: OpenrpcMethod): string[] {
  const { name, summary, description, params, result } = method;
  const item = method["x-stream"]?.item;
  const outcome = item === undefined ? ["result", result?.schema] : ["item", item];
  const rows = [
    ...params.map(
      (param) => [`${param.name}${param.required ? "" : "?"}`, schemaText(param.schema)] as const,
    ),
    [`→ ${outcome[0]}`, schemaText((outcome[1] ?? {}) as JsonSchema)] as const,
  ];
  const sentences = [summary, description].filter((text) => text !== undefined);
  return [
    printable(`${name}${item === undefined ? "" : " (stream)"}`),
    ...sentences.map((text) => `  ${printable(text)}`),
    ...columns(rows.map(([left, right]) => [printable(left), right])),
  ];
}

/** A type where it is simple, else the schema. */
function schemaText(schema: JsonSchema): string {
  if (typeof schema !== "object") return schema ? "any" : "never";
  const { type, ...rest } = schema;
  if (type === undefined && Object.keys(rest).length === 0) return "any";
  return typeof type === "string" && Object.keys(rest).length === 0 ? type : jsonLine(schema);
}
