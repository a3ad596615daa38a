/** An HTTP server whose answers a test writes by hand. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RawRequest {
  readonly verb: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The message, if there was one. */
  readonly message: { id?: number; method?: string; params?: Record<string, unknown> };
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly seen: RawRequest[];
}

export type Answer = (request: RawRequest, response: ServerResponse) => unknown;

export async function rawServer(answer: Answer): Promise<RawServer> {
  const seen: RawRequest[] = [];
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const message = body === "" ? {} : JSON.parse(body);
    const { method: verb = "", url: path = "", headers } = request;
    const raw = { verb, path, headers, message };
    seen.push(raw);
    answer(raw, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

export function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export function result(response: ServerResponse, { message }: RawRequest, value: object): void {
  json(response, { jsonrpc: "2.0", id: message.id, result: value });
}

/** Answers the handshake of the legacy era, and passes on the rest. */
export function legacy(rest: Answer, revision = "2025-11-25"): Answer {
  return (request, response) => {
    const { method } = request.message;
    if (request.verb === "DELETE") response.end();
    else if (method === "server/discover") json(response, refusal(request), 400);
    else if (method === "initialize") {
      response.setHeader("mcp-session-id", "s1");
      const serverInfo = { name: "raw", version: "1" };
      result(response, request, { protocolVersion: revision, capabilities: {}, serverInfo });
    } else if (method?.startsWith("notifications/")) response.writeHead(202).end();
    else rest(request, response);
  };
}

function refusal({ message }: RawRequest): object {
  return { jsonrpc: "2.0", id: message.id, error: { code: -32000, message: "not initialized" } };
}

/** Answers `server/discover`, and passes on the rest. */
export function modern(rest: Answer): Answer {
  return (request, response) => {
    if (request.message.method !== "server/discover") rest(request, response);
    else {
      result(response, request, {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {}, resources: {} },
        ttlMs: 0,
        cacheScope: "private",
      });
    }
  };
}
