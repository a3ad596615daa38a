import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";
import type { ToolHints } from "../../protocol/contract.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import { Method } from "../../server/method.ts";
import type { Icon } from "../capabilities.ts";
import type { ContentBlock } from "../content.ts";
import { jsonSchema } from "../json-schema.ts";
import type { Meta } from "../meta-keys.ts";
import type { ToolResult } from "../results.ts";
import type { McpCall } from "./mcp-call.ts";

/** A schema of any library, or JSON Schema as it is. */
export type AnySchema = Schema | JsonSchemaObject;

export interface ToolDefinition extends ToolHints {
  /** What the tool does, for the model that decides whether to call it. */
  readonly description?: string;
  /** What its arguments look like: an object. */
  readonly input?: AnySchema;
  /** What its structured content looks like: an object. */
  readonly output?: AnySchema;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Whether running it twice is the same as once. @default false */
  readonly idempotent?: boolean;
  /** Longest run. @default the server's */
  readonly timeoutMs?: number;
  /** The handler itself begins the task, with `call.task`; it may ask the client before. @default false */
  readonly beginsTask?: boolean;
  /** Members of your own, sent to clients with the description. */
  readonly _meta?: Meta;
}

/** What a tool answers with: text, blocks of content, a whole result, or data as structured content. */
export type ToolOutput = string | readonly ContentBlock[] | ToolResult | object | void;

/** What the handler of a tool gets: what its schema gives, or what was sent. */
export type InputOfTool<D> = D extends { readonly input: infer S extends Schema }
  ? OutputOf<S>
  : Readonly<Record<string, unknown>>;

/** What a tool says about itself beyond a method's definition. */
export interface ToolExtras {
  readonly icons?: readonly Icon[];
  readonly output?: Schema;
  readonly beginsTask?: boolean;
  readonly _meta?: Meta;
}

const extras = new WeakMap<Method, ToolExtras>();

/**
 * A method that was written for agents: it may answer with any content, and ask the client back.
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
  const made = new Method(
    "method",
    {
      tool: hints,
      ...(description !== undefined && { description }),
      ...(input !== undefined && { params: schemaOf(input) }),
      ...(idempotent !== undefined && { idempotent }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    handler,
  );
  extras.set(made, {
    ...(icons !== undefined && { icons }),
    ...(output !== undefined && { output: schemaOf(output) }),
    ...(beginsTask !== undefined && { beginsTask }),
    ...(_meta !== undefined && { _meta }),
  });
  return made;
}

/** Undefined for a method that was not made by `tool`. */
export function toolExtras(method: Method): ToolExtras | undefined {
  return extras.get(method);
}

export function schemaOf(schema: AnySchema): Schema {
  return "~standard" in schema ? (schema as Schema) : jsonSchema(schema as JsonSchemaObject);
}
