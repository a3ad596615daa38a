import type { CallFacts } from "../protocol/context.ts";
import { membersOf } from "../protocol/envelope.ts";
import { isRecord } from "../protocol/record.ts";

/** Longest baggage that is passed on; the recommendation asks for at least 8192 bytes. */
const longestBaggage = 8_192;

/** A request of MCP by the conventions of OpenTelemetry for MCP and GenAI. */
export function callFacts(
  method: string,
  params: unknown,
  { revision, sessionId }: { readonly revision?: string; readonly sessionId?: string | undefined },
): CallFacts {
  const { name, uri, _meta } = membersOf(params);
  const target = typeof name === "string" ? name : undefined;
  const isTool = method === "tools/call" && target !== undefined;
  const labels = {
    "mcp.method.name": method,
    ...(isTool && { "gen_ai.tool.name": target, "gen_ai.operation.name": "execute_tool" }),
    ...(method === "prompts/get" && target !== undefined && { "gen_ai.prompt.name": target }),
    ...(revision !== undefined && { "mcp.protocol.version": revision }),
  };
  const { baggage } = isRecord(_meta) ? _meta : {};
  const isShort = typeof baggage === "string" && baggage.length <= longestBaggage;
  return {
    name: target === undefined ? method : `${method} ${target}`,
    attributes: {
      ...labels,
      ...(typeof uri === "string" && { "mcp.resource.uri": uri }),
      ...(sessionId !== undefined && sessionId !== "" && { "mcp.session.id": sessionId }),
    },
    labels,
    protocol: "mcp",
    baggage: isShort ? baggage : undefined,
    failureIn: (result) => (isRecord(result) && result.isError === true ? "tool_error" : undefined),
  };
}
