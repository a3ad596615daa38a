import { mcpServer, prompt, resource, text, tool } from "callwire/mcp";
import { asking } from "./asking.ts";
import { content, pixel } from "./content.ts";
import { reporting } from "./reporting.ts";
import { askingPrompt, rounds } from "./rounds.ts";
import { tasks } from "./tasks.ts";

const template = resource({
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "Data by id",
  mimeType: "application/json",
  complete: { id: (typed) => ["123", "124", "200"].filter((id) => id.startsWith(typed)) },
  read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
});

const prompts = {
  test_simple_prompt: prompt(
    { description: "Has no arguments" },
    () => "This is a simple prompt for testing.",
  ),
  test_prompt_with_arguments: prompt(
    {
      description: "Has two arguments",
      arguments: [
        { name: "arg1", description: "The first", required: true },
        { name: "arg2", description: "The second", required: true },
      ],
      complete: { arg1: (typed) => ["paris", "park", "party"].filter((v) => v.startsWith(typed)) },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  ),
  test_prompt_with_embedded_resource: prompt(
    {
      description: "Brings a resource along",
      arguments: [{ name: "resourceUri", description: "Which one", required: true }],
    },
    ({ resourceUri = "" }) => [
      {
        role: "user",
        content: {
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
      },
      { role: "user", content: text("Please process the embedded resource above.") },
    ],
  ),
  test_prompt_with_image: prompt({ description: "Brings an image along" }, () => [
    { role: "user", content: { type: "image", data: pixel, mimeType: "image/png" } },
    { role: "user", content: text("Please analyze the image above.") },
  ]),
  test_input_required_result_prompt: askingPrompt,
};

/** Tools that change the tools and resources of the server. */
const changing = {
  touch_watched_resource: tool({ description: "Says that the resource changed" }, () => {
    everything.resourceUpdated("test://watched-resource");
    return [text("Whoever watches was told")];
  }),
  test_trigger_tool_change: tool({ description: "Adds a tool and takes it away again" }, () => {
    everything.catalog.addMethods({ passing: () => "here today" });
    everything.catalog.removeTool("passing");
    return [text("The list of tools changed twice")];
  }),
  test_trigger_prompt_change: tool({ description: "Adds a prompt and takes it away again" }, () => {
    everything.catalog.addPrompt(
      "passing",
      prompt({}, () => "here today"),
    );
    everything.catalog.removePrompt("passing");
    return [text("The list of prompts changed twice")];
  }),
};

/** Every feature of MCP, as the official conformance suite tests it. */
export const everything = mcpServer(
  { ...content, ...reporting, ...asking, ...rounds, ...tasks, ...changing },
  {
    name: "mcp-everything",
    version: "1.0.0",
    instructions: "A server for tests: every feature of MCP, and nothing useful.",
    prompts,
    resources: [
      resource({
        uri: "test://static-text",
        name: "static-text",
        description: "Text",
        mimeType: "text/plain",
        read: () => "This is the content of the static text resource.",
      }),
      resource({
        uri: "test://static-binary",
        name: "static-binary",
        description: "An image",
        mimeType: "image/png",
        read: () => Uint8Array.from(atob(pixel), (c) => c.charCodeAt(0)),
      }),
      resource({
        uri: "test://watched-resource",
        name: "watched-resource",
        description: "Can be watched",
        mimeType: "text/plain",
        read: () => "Watched",
      }),
      template,
    ],
  },
);
