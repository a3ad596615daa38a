import { createServer } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { listening } from "../listening.mjs";
import { inSession } from "../mcp-request.mjs";
import { sdkServer } from "../mcp-sdk-add.mjs";

/** The official SDK as its documentation has it: a transport for each session. JSON is its faster form of reply. */
export async function serveSdk(names) {
  const transports = new Map();
  const http = createServer(async (request, response) => {
    const known = transports.get(request.headers["mcp-session-id"]);
    if (known !== undefined) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse: true,
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => transports.set(id, transport),
    });
    await sdkServer(names).connect(transport);
    await transport.handleRequest(request, response);
  });
  return listening(http);
}

export default async () => inSession(await serveSdk(), "/mcp");
