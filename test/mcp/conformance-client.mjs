// What the official suites run against their servers: our client, with one task for each scenario.
// It is no TypeScript, because dozens of it are started in one run.
import { createPrivateKey, randomUUID, sign } from "node:crypto";
import { mcpClient, mcpHttpLink, oauth } from "callwire/mcp/client";

const {
  MCP_CONFORMANCE_SCENARIO: scenario = "",
  MCP_CONFORMANCE_CONTEXT: given = "{}",
  MCP_CONFORMANCE_PROTOCOL_VERSION: revision = "",
} = process.env;
const url = process.argv[2] ?? "";

/**
 * @typedef {object} SuiteContext
 * @property {string} [client_id]
 * @property {string} [client_secret]
 * @property {string} [private_key_pem]
 * @property {{ name: string, arguments: Record<string, unknown> }[]} [toolCalls]
 */

/** @type {SuiteContext} */
const context = JSON.parse(given);

/**
 * Signs in as a browser would, where nobody has to click.
 * @param {URL} address
 */
async function followed(address) {
  const response = await fetch(address, { redirect: "manual", headers: { connection: "close" } });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`no redirect, but the status ${response.status}`);
  return location;
}

/**
 * A signed statement of who this client is (RFC 7523).
 * @param {string} issuer
 */
function assertion(issuer) {
  const now = Math.floor(Date.now() / 1_000);
  const { client_id: id = "", private_key_pem: pem = "" } = context;
  /** @param {object} value */
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: id, sub: id, aud: issuer, jti: randomUUID(), iat: now, exp: now + 60 };
  const text = `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(text), {
    key: createPrivateKey(pem),
    dsaEncoding: "ieee-p1363",
  });
  return `${text}.${signature.toString("base64url")}`;
}

/** The suite tells no issuer; a client with a secret of its own would know it. */
async function namedIssuer() {
  const { origin, pathname } = new URL(url);
  for (const path of [pathname, ""]) {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    if (response.ok) return String((await response.json()).authorization_servers[0]);
  }
  return origin;
}

const isMachine = scenario.startsWith("auth/client-credentials");
const identity = {
  ...(context.client_id !== undefined && { clientId: context.client_id }),
  ...(context.client_secret !== undefined && { clientSecret: context.client_secret }),
  ...(context.private_key_pem !== undefined && { clientAssertion: assertion }),
};
const isKnown = context.client_secret !== undefined || context.private_key_pem !== undefined;
const authorization = oauth({
  clientName: "callwire-conformance",
  clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  ...(isKnown
    ? { ...identity, issuer: await namedIssuer() }
    : { ...(context.client_id !== undefined && { clientId: context.client_id }) }),
  ...(!isMachine && { redirectUrl: "http://localhost:3000/callback", authorize: followed }),
});

/** @type {Record<string, (client: import("callwire/mcp/client").McpClient) => Promise<unknown>>} */
const tasks = {
  tools_call: (client) => client.callTool("add_numbers", { a: 5, b: 3 }),
  "elicitation-sep1034-client-defaults": (client) =>
    client.callTool("test_client_elicitation_defaults"),
  "sse-retry": (client) => client.callTool("test_reconnection"),
  async "http-standard-headers"(client) {
    const [tool] = await client.tools().all();
    if (tool !== undefined) await client.callTool(tool.name);
    const [resource] = await client.resources().all();
    if (resource !== undefined) await client.readResource(resource.uri);
    const [prompt] = await client.prompts().all();
    if (prompt !== undefined) await client.getPrompt(prompt.name);
  },
  async "http-custom-headers"(client) {
    for (const call of context.toolCalls ?? []) await client.callTool(call.name, call.arguments);
  },
  async "http-invalid-tool-headers"(client) {
    for await (const { name } of client.tools()) await client.callTool(name, { region: "eu" });
  },
  async "sep-2322-client-request-state"(client) {
    for await (const { name } of client.tools()) await client.callTool(name);
  },
  async "json-schema-2020-12-preservation"(client) {
    const tools = await client.tools().all();
    const schema = tools.find(({ name }) => name === "json_schema_2020_12_tool")?.inputSchema;
    await client.callTool("json_schema_echo", { schema });
  },
  auth: (client) => client.callTool("test-tool"),
};

const client = mcpClient(mcpHttpLink(url, { authorization }), {
  name: "callwire-conformance",
  version: "1.0.0",
  era: revision >= "2026" ? "auto" : "legacy",
  elicitForm: () => ({ action: "accept", content: {} }),
  sample: () => ({ role: "assistant", model: "none", content: { type: "text", text: "Yes." } }),
  roots: [],
});
try {
  await client.tools().all();
  await tasks[scenario.startsWith("auth/") ? "auth" : scenario]?.(client);
} finally {
  await client.close();
}
