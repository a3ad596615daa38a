// The official server, version 1: on standard input and output, or with "http" on a free port.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

function makeServer() {
  const server = new McpServer(
    { name: "sdk-v1", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "Be kind." },
  );
  server.registerTool(
    "add",
    {
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
    },
    ({ a, b }) => ({
      content: [{ type: "text", text: `${a + b}` }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool("report", {}, async ({ _meta, sendNotification }) => {
    for (const progress of [1, 2, 3]) {
      await sendNotification({
        method: "notifications/progress",
        params: { progressToken: _meta?.progressToken ?? 0, progress, total: 3 },
      });
    }
    return { content: [{ type: "text", text: "done" }] };
  });
  server.registerTool("ask", {}, async () => {
    const form = await server.server.elicitInput({
      message: "Who are you?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    const sample = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Capital?" } }],
      maxTokens: 10,
    });
    const { roots } = await server.server.listRoots();
    const words = [
      form.content?.name,
      "text" in sample.content && sample.content.text,
      roots.length,
    ];
    return { content: [{ type: "text", text: words.join(", ") }] };
  });
  server.registerTool("ask_later", {}, async () => {
    const { tasks } = server.server.experimental;
    const task = { ttl: 60_000 };
    const form = {
      message: "Who are you?",
      requestedSchema: { type: /** @type {const} */ ("object"), properties: {} },
    };
    const question = {
      messages: [
        {
          role: /** @type {const} */ ("user"),
          content: { type: /** @type {const} */ ("text"), text: "Capital?" },
        },
      ],
      maxTokens: 10,
    };
    const heard = [];
    for await (const message of tasks.elicitInputStream(form, { task })) heard.push(message);
    for await (const message of tasks.createMessageStream(question, { task })) heard.push(message);
    return { content: [{ type: "text", text: JSON.stringify(heard) }] };
  });
  let visited = false;
  server.registerTool("pay", {}, () => {
    if (visited) return { content: [{ type: "text", text: "paid" }] };
    visited = true;
    const url = "https://example.com/pay";
    throw new UrlElicitationRequiredError([
      { mode: "url", message: "Pay first", url, elicitationId: "1" },
    ]);
  });
  server.registerTool("grow", {}, () => {
    server.registerTool(`grown-${randomUUID()}`, {}, () => ({ content: [] }));
    return { content: [] };
  });
  server.registerTool("hang", {}, ({ signal }) => {
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error("gone"))),
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
  server.registerPrompt("greet", { argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }],
  }));
  return server;
}

if (process.argv[2] === "http") {
  /** @type {Map<string, StreamableHTTPServerTransport>} */
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    // As if the server had restarted.
    if (request.url === "/forget") {
      for (const session of sessions.values()) await session.close();
      sessions.clear();
      response.end();
      return;
    }
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (known !== undefined) {
      await known.handleRequest(request, response);
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await makeServer().connect(transport);
    await transport.handleRequest(request, response);
  });
  http.listen(0, "127.0.0.1", () => {
    const { port } = /** @type {import("node:net").AddressInfo} */ (http.address());
    console.log(`http://127.0.0.1:${port}/mcp`);
  });
} else {
  await makeServer().connect(new StdioServerTransport());
}
