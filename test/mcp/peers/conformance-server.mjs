// The fixtures of the official suites on the official SDK, version 1, for tests of a gateway in
// front of it.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CompleteRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const server = new McpServer(
  { name: "fixtures", version: "1.0.0" },
  { capabilities: { logging: {}, completions: {}, resources: { subscribe: true } } },
);

/** @param {string} words */
const text = (words) => ({ type: /** @type {const} */ ("text"), text: words });
/** @param {string} uri @param {string} mimeType @param {string} words */
const embedded = (uri, mimeType, words) => ({
  type: /** @type {const} */ ("resource"),
  resource: { uri, mimeType, text: words },
});
const image = { type: /** @type {const} */ ("image"), data: png, mimeType: "image/png" };

/** Tools that always return the same. */
const contents = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [image],
  test_audio_content: [{ type: /** @type {const} */ ("audio"), data: wav, mimeType: "audio/wav" }],
  test_embedded_resource: [
    embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    image,
    embedded(
      "test://mixed-content-resource",
      "application/json",
      JSON.stringify({ test: "data", value: 123 }),
    ),
  ],
};
for (const [name, content] of Object.entries(contents)) {
  server.registerTool(name, { description: name }, () => ({ content }));
}
server.registerTool("test_error_handling", { description: "Fails" }, () => ({
  content: [text("This tool intentionally returns an error for testing")],
  isError: true,
}));
server.registerTool("test_tool_with_progress", { description: "Reports" }, async (extra) => {
  const progressToken = extra._meta?.progressToken ?? 0;
  for (const progress of [0, 50, 100]) {
    const params = { progressToken, progress, total: 100 };
    await extra.sendNotification({ method: "notifications/progress", params });
  }
  return { content: [text("done")] };
});
server.registerTool("test_tool_with_logging", { description: "Logs" }, async (extra) => {
  for (const data of [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
  ]) {
    const params = { level: /** @type {const} */ ("info"), data };
    await extra.sendNotification({ method: "notifications/message", params });
  }
  return { content: [text("done")] };
});
server.registerTool(
  "test_sampling",
  { description: "Asks the model", inputSchema: { prompt: z.string() } },
  async ({ prompt }) => {
    const { content } = await server.server.createMessage({
      messages: [{ role: "user", content: text(prompt) }],
      maxTokens: 100,
    });
    return { content: [text(`LLM response: ${"text" in content ? content.text : ""}`)] };
  },
);

/** @param {string} name @param {Record<string, any>} properties @param {string[]} [required] */
function asks(name, properties, required = []) {
  server.registerTool(
    name,
    { description: "Asks the user", inputSchema: { message: z.string().optional() } },
    async ({ message = "Please answer" }) => {
      const requestedSchema = { type: /** @type {const} */ ("object"), properties, required };
      const { action, content } = await server.server.elicitInput({ message, requestedSchema });
      return { content: [text(`${action}: ${JSON.stringify(content)}`)] };
    },
  );
}
const string = { type: "string" };
asks("test_elicitation", { username: string, email: string }, ["username", "email"]);
asks("test_elicitation_sep1034_defaults", {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
});
const options = ["option1", "option2", "option3"];
const titled = options.map((each) => ({ const: each, title: each.toUpperCase() }));
asks("test_elicitation_sep1330_enums", {
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled },
  legacyEnum: { type: "string", enum: options, enumNames: ["One", "Two", "Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: options } },
  titledMulti: { type: "array", items: { anyOf: titled } },
});

server.registerResource("text", "test://static-text", { mimeType: "text/plain" }, ({ href }) => ({
  contents: [
    {
      uri: href,
      mimeType: "text/plain",
      text: "This is the content of the static text resource.",
    },
  ],
}));
server.registerResource(
  "binary",
  "test://static-binary",
  { mimeType: "image/png" },
  ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: png }],
  }),
);
server.registerResource("watched", "test://watched-resource", {}, ({ href }) => ({
  contents: [{ uri: href, text: "watched" }],
}));
server.registerResource(
  "data",
  new ResourceTemplate("test://template/{id}/data", { list: undefined }),
  { mimeType: "application/json" },
  ({ href }, { id }) => {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return { contents: [{ uri: href, mimeType: "application/json", text: JSON.stringify(data) }] };
  },
);

/** @param {any} content */
const says = (content) => ({ role: /** @type {const} */ ("user"), content });
server.registerPrompt("test_simple_prompt", { description: "Simple" }, () => ({
  messages: [says(text("This is a simple prompt for testing."))],
}));
server.registerPrompt(
  "test_prompt_with_arguments",
  { description: "Echoes", argsSchema: { arg1: z.string(), arg2: z.string() } },
  ({ arg1, arg2 }) => ({ messages: [says(text(`arg1='${arg1}', arg2='${arg2}'`))] }),
);
server.registerPrompt(
  "test_prompt_with_embedded_resource",
  { description: "Embeds", argsSchema: { resourceUri: z.string() } },
  ({ resourceUri }) => ({
    messages: [says(embedded(resourceUri, "text/plain", "Embedded")), says(text("Use it."))],
  }),
);
server.registerPrompt("test_prompt_with_image", { description: "Shows" }, () => ({
  messages: [says(image), says(text("Look at it."))],
}));
server.server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: [] } }));

await server.connect(new StdioServerTransport());
