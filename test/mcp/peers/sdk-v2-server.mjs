// The official server, version 2: on standard input and output, or with "http" on a free port.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function makeServer() {
  const server = new McpServer(
    { name: "sdk-v2", version: "1.0.0" },
    { capabilities: { logging: {}, tools: { listChanged: true } }, instructions: "Be kind." },
  );
  server.registerTool(
    "add",
    {
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: `${a + b}` }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("report", {}, async ({ mcpReq }) => {
    for (const progress of [1, 2, 3]) {
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: mcpReq._meta?.progressToken, progress, total: 3 },
      });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  server.registerTool("ask", {}, async ({ mcpReq }) => {
    const form = acceptedContent(mcpReq.inputResponses, "who");
    if (form === undefined) {
      return inputRequired({
        inputRequests: {
          who: inputRequired.elicit({
            message: "Who are you?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          }),
          roots: inputRequired.listRoots(),
        },
        requestState: "first",
      });
    }
    const listed = /** @type {{ roots?: unknown[] } | undefined} */ (mcpReq.inputResponses?.roots);
    const words = [form.name, mcpReq.requestState(), listed?.roots?.length];
    return { content: [{ type: "text", text: words.join(", ") }] };
  });
  server.registerTool("hang", {}, ({ mcpReq }) => {
    return new Promise((_, reject) =>
      mcpReq.signal.addEventListener("abort", () => reject(new Error("gone"))),
    );
  });
  server.registerResource("text", "test://text", {}, () => ({
    contents: [{ uri: "test://text", text: "Hello" }],
  }));
  server.registerResource(
    "item",
    new ResourceTemplate("test://item/{id}", {
      list: undefined,
      complete: { id: (value) => ["one", "two"].filter((each) => each.startsWith(value)) },
    }),
    {},
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `item ${id}` }] }),
  );
  server.registerPrompt("greet", { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }],
  }));
  return server;
}

if (process.argv[2] === "http") {
  const handler = createMcpHandler(makeServer);
  const http = createServer(async (request, response) => {
    if (request.url === "/change") {
      handler.notify.toolsChanged();
      response.end();
      return;
    }
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const { body, status, headers } = await handler.fetch(
      new Request(
        `http://${request.headers.host}${request.url}`,
        /** @type {RequestInit} */ ({
          method: request.method,
          headers: request.headers,
          signal: gone.signal,
          ...(request.method === "POST" && { body: Readable.toWeb(request), duplex: "half" }),
        }),
      ),
    );
    response.writeHead(status, Object.fromEntries(headers));
    response.flushHeaders();
    if (body === null) response.end();
    else
      Readable.fromWeb(/** @type {import("node:stream/web").ReadableStream} */ (body))
        .on("error", () => {})
        .pipe(response);
  });
  http.listen(0, "127.0.0.1", () => {
    const { port } = /** @type {import("node:net").AddressInfo} */ (http.address());
    console.log(`http://127.0.0.1:${port}/mcp`);
  });
} else {
  serveStdio(makeServer);
}
