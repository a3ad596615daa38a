import { audio, embedded, image, McpError, text, tool } from "callwire/mcp";

/** One red pixel. */
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A short silence. */
const silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/** Tools that return each kind of content. */
export const content = {
  test_simple_text: tool({ description: "Answers with text" }, () => [
    text("This is a simple text response for testing."),
  ]),
  test_image_content: tool({ description: "Answers with an image" }, () => [
    image(pixel, "image/png"),
  ]),
  test_audio_content: tool({ description: "Answers with sound" }, () => [
    audio(silence, "audio/wav"),
  ]),
  test_embedded_resource: tool({ description: "Answers with a resource" }, () => [
    embedded({
      uri: "test://embedded-resource",
      mimeType: "text/plain",
      text: "This is an embedded resource content.",
    }),
  ]),
  test_multiple_content_types: tool({ description: "Answers with several kinds" }, () => [
    text("Multiple content types test:"),
    image(pixel, "image/png"),
    embedded({
      uri: "test://mixed-content-resource",
      mimeType: "application/json",
      text: JSON.stringify({ test: "data", value: 123 }),
    }),
  ]),
  test_error_handling: tool({ description: "Fails, as a tool does" }, () => ({
    content: [text("This tool intentionally returns an error for testing")],
    isError: true,
  })),
  json_schema_2020_12_tool: tool(
    {
      description: "Has an input schema that uses much of JSON Schema 2020-12",
      input: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: { street: { type: "string" }, city: { type: "string" } },
          },
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this keyword.
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
      },
    },
    (input) => [text(`Called with ${JSON.stringify(input)}`)],
  ),
  test_header_param: tool(
    {
      description: "Has an argument that travels as a header too",
      input: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          query: { type: "string" },
        },
        required: ["region"],
      },
    },
    ({ region }) => [text(`Asked in ${region}`)],
  ),
  test_protocol_error: tool({ description: "Fails the request itself" }, () => {
    throw new McpError(-32603, "This request cannot be answered");
  }),
};
