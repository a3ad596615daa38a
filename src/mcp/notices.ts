import type { Notices } from "../connection/notices.ts";
import type { Id } from "../protocol/message.ts";
import type { Origin } from "../protocol/origin.ts";
import type { Profile } from "../protocol/parse.ts";

/** The notifications with which MCP cancels and reports progress. */
export const mcpNotices: Notices = {
  cancel: (id) => ({ method: "notifications/cancelled", params: { requestId: id } }),
  read(method, params) {
    const { requestId, progressToken } = (params ?? {}) as {
      requestId?: Id;
      progressToken?: unknown;
    };
    if (method === "notifications/cancelled") return { kind: "cancel", id: requestId ?? null };
    if (method === "notifications/progress") {
      return { kind: "progress", token: progressToken, value: params };
    }
    return undefined;
  },
};

/** The restrictions that MCP puts on JSON-RPC; only one revision has batches. */
export function mcpProfile(batches: (origin: Origin) => boolean): Profile {
  return { nullIds: false, positionalParams: false, batches };
}
