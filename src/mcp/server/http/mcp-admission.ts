import type { HttpMessage } from "../../../http/http-message.ts";
import { isRefusal } from "../../../protocol/handle.ts";
import type { McpServer } from "../mcp-server.ts";
import type { Admitted, Authorization } from "./authorization.ts";
import { notAdmitted } from "./mcp-refusals.ts";

export type Admission = (message: HttpMessage) => Promise<Admitted>;

/**
 * Finds the principal of a request before anything else, since a session belongs to one: by its token,
 * or by the middleware of the server. Undefined if every request is admitted.
 */
export function admission(
  { admit, log }: McpServer,
  authorization: Authorization | undefined,
): Admission | undefined {
  if (authorization !== undefined) {
    return ({ head }) => authorization.check(head.get("authorization"), log);
  }
  if (admit === undefined) return undefined;
  return async (message) => {
    const verdict = await admit(message.transport(undefined));
    return isRefusal(verdict) ? { refusal: notAdmitted(verdict) } : { principal: verdict };
  };
}
