import { existsSync, readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { mermaidFences, repositoryLinks } from "./markdown.ts";

/** What `scripts/docs.mjs` has made of the doc comments. */
const reference = new URL("../api/typedoc-sidebar.json", import.meta.url);

export default defineConfig({
  title: "callwire",
  description: "JSON-RPC for TypeScript, over every wire",
  cleanUrls: true,
  // Without an icon, browsers would ask the host for one.
  head: [["link", { rel: "icon", href: "data:," }]],
  // Pages that a program of yours serves.
  ignoreDeadLinks: "localhostLinks",
  srcExclude: ["node_modules/**"],
  markdown: {
    languageAlias: { conf: "nginx" },
    config: (markdown) => {
      mermaidFences(markdown);
      repositoryLinks(markdown);
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Guide", link: "/server" },
      { text: "Which part do I need?", link: "/which-part" },
      { text: "API", link: "/api/" },
    ],
    sidebar: [
      {
        text: "Start",
        items: [
          { text: "What callwire is", link: "/" },
          { text: "Which part do I need?", link: "/which-part" },
          { text: "Writing a server", link: "/server" },
          { text: "Writing a client", link: "/client" },
          { text: "Web applications", link: "/web" },
          { text: "TanStack Query", link: "/tanstack-query" },
          { text: "tRPC and oRPC compared", link: "/comparison" },
          { text: "Testing your application", link: "/testing" },
          { text: "The command line", link: "/cli" },
        ],
      },
      {
        text: "Calls and wires",
        items: [
          { text: "Wires", link: "/wires" },
          { text: "Streams, uploads and push", link: "/streaming" },
          { text: "Rich values", link: "/values" },
          { text: "Errors", link: "/errors" },
          { text: "Limits", link: "/limits" },
        ],
      },
      {
        text: "Describe and try",
        items: [
          { text: "OpenRPC", link: "/openrpc" },
          { text: "The playground", link: "/playground" },
          { text: "Conformance", link: "/conformance" },
        ],
      },
      {
        text: "Agents",
        items: [
          { text: "MCP servers", link: "/mcp" },
          { text: "MCP clients", link: "/mcp-client" },
          { text: "MCP gateways", link: "/mcp-gateway" },
          { text: "Testing MCP tools", link: "/mcp-testing" },
          { text: "A2A agents", link: "/a2a" },
        ],
      },
      { text: "Editors", items: [{ text: "Language servers", link: "/lsp" }] },
      {
        text: "Production",
        items: [
          { text: "Security", link: "/security" },
          { text: "Signing", link: "/signing" },
          { text: "Observability", link: "/observability" },
          { text: "The gateway", link: "/gateway" },
          { text: "Performance", link: "/performance" },
          { text: "Reliability", link: "/reliability" },
          { text: "Scaling", link: "/scaling" },
          { text: "Deployment", link: "/deploy" },
          { text: "From other languages", link: "/other-languages" },
          { text: "Dapr and CloudEvents", link: "/dapr" },
        ],
      },
      {
        text: "NATS",
        items: [
          { text: "Workers on NATS", link: "/nats" },
          { text: "Durable notifications", link: "/nats-durable" },
          { text: "Shared state", link: "/nats-state" },
          { text: "Long-running work", link: "/work" },
        ],
      },
      {
        text: "API reference",
        collapsed: true,
        items: existsSync(reference) ? JSON.parse(readFileSync(reference, "utf8")) : [],
      },
    ],
  },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
});
