import type { IncomingMessage } from "node:http";
import { NodeTransport } from "../../../http/node-transport.ts";
import { isRefusal } from "../../../protocol/handle.ts";
import type { McpServer } from "../mcp-server.ts";
import type { Admitted, Authorization } from "./authorization.ts";
import type { McpHead } from "./mcp-head.ts";
import { notAdmitted } from "./mcp-refusals.ts";

export type Admission = (request: IncomingMessage, head: McpHead) => Promise<Admitted>;

/**
 * Finds out who sends a request before anything else, since a session belongs to somebody: by its token,
 * or as the guards of the server have it. Undefined where everybody may.
 */
export function admission(
  { admit, log }: McpServer,
  authorization: Authorization | undefined,
): Admission | undefined {
  if (authorization !== undefined) {
    return (_, head) => authorization.check(head.authorization, log);
  }
  if (admit === undefined) return undefined;
  return async (request) => {
    const verdict = await admit(new NodeTransport(request));
    return isRefusal(verdict) ? { refusal: notAdmitted(verdict) } : { principal: verdict };
  };
}
