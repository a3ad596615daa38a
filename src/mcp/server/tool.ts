import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";
import { jsonSchema } from "../../openrpc/json-schema-check.ts";
import type { ToolHints } from "../../protocol/contract.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import { defined } from "../../protocol/record.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import { Method } from "../../server/method.ts";
import type { Icon } from "../capabilities.ts";
import type { ContentBlock } from "../content.ts";
import type { Meta } from "../meta-keys.ts";
import type { ToolResult } from "../results.ts";
import type { McpCall } from "./mcp-call.ts";

/** A Standard Schema of any library, or plain JSON Schema. */
export type AnySchema = Schema | JsonSchemaObject;

export interface ToolDefinition extends ToolHints {
  /** What the tool does, for the model that decides whether to call it. */
  readonly description?: string;
  /** Schema of the arguments: an object. */
  readonly input?: AnySchema;
  /** Schema of the structured content: an object. */
  readonly output?: AnySchema;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Whether running it twice has the same effect as once. @default false */
  readonly idempotent?: boolean;
  /** Longest run. @default the limit of the server */
  readonly timeoutMs?: number;
  /** Whether the handler starts the task itself, with `call.task`, for example after a question. @default false */
  readonly beginsTask?: boolean;
  /** Members of your own, sent to clients with the description. */
  readonly _meta?: Meta;
}

/** What a tool returns: text, content blocks, a whole result, or data as structured content. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult | object | void;

/** What the handler of a tool gets: the output of its schema, or the arguments as sent. */
export type InputOfTool<D> = D extends { readonly input: infer S extends Schema }
  ? OutputOf<S>
  : Readonly<Record<string, unknown>>;

/** What `tool` adds to the definition of a method. */
export interface ToolExtras {
  readonly icons?: readonly Icon[];
  readonly output?: Schema;
  readonly beginsTask?: boolean;
  readonly _meta?: Meta;
}

const extras = new WeakMap<Method, ToolExtras>();

/**
 * A method for agents: it may return any content, and ask the client questions.
 * @example
 * ```ts
 * import { mcpServer, text, tool } from "callwire/mcp";
 * import { z } from "zod";
 *
 * const remove = tool(
 *   { description: "Remove a note", input: z.object({ id: z.string() }), destructive: true },
 *   async ({ id }, call) => {
 *     const { content } = await call.elicit("Really?", z.object({ sure: z.boolean() }));
 *     return [text(content?.sure === true ? `Removed ${id}` : "Kept it")];
 *   },
 * );
 * const agents = mcpServer({ remove }, { name: "notes", version: "1.0.0" });
 * ```
 */
export function tool<const D extends ToolDefinition>(
  definition: D,
  handler: (input: InputOfTool<D>, call: McpCall) => MaybePromise<ToolOutput>,
): Method {
  const { description, input, output, icons, idempotent, timeoutMs, beginsTask, _meta, ...hints } =
    definition as ToolDefinition;
  const params = input && schemaOf(input);
  const described = defined({ tool: hints, description, params, idempotent, timeoutMs });
  const made = new Method("method", described, handler);
  extras.set(made, defined({ icons, output: output && schemaOf(output), beginsTask, _meta }));
  return made;
}

/** Undefined for a method that `tool` did not create. */
export function toolExtras(method: Method): ToolExtras | undefined {
  return extras.get(method);
}

export function schemaOf(schema: AnySchema): Schema {
  return "~standard" in schema ? (schema as Schema) : jsonSchema(schema as JsonSchemaObject);
}
