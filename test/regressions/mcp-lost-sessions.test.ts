import type { ServerResponse } from "node:http";
import { silentLog } from "callwire";
import { type McpClientOptions, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { describe, expect, test } from "vitest";
import {
  json,
  type RawRequest,
  type RawServer,
  rawServer,
  result,
} from "../mcp/client/raw-server.ts";

// Only 404 counted as a lost session, but the SDKs' own examples answer an unknown session with 400.

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog, era: "legacy" };

type Refuse = (response: ServerResponse, request: RawRequest) => void;

const noSession = { code: -32000, message: "Bad Request: No valid session ID provided" };

const refusals: [how: string, refuse: Refuse][] = [
  [
    "400 and -32000, without an id",
    (response) => json(response, { jsonrpc: "2.0", id: null, error: noSession }, 400),
  ],
  [
    "400 and -32000, with the id of the request",
    (response, { message }) =>
      json(response, { jsonrpc: "2.0", id: message.id, error: noSession }, 400),
  ],
  ["400 and text", (response) => response.writeHead(400).end("No valid session ID provided")],
  ["404", (response) => response.writeHead(404).end()],
  ["410", (response) => response.writeHead(410).end()],
];

/** A server that forgets its sessions with each restart. */
async function forgetful(refuse: Refuse): Promise<RawServer & { restart(): void; ran: number }> {
  let sessions = new Set<unknown>();
  let count = 0;
  const server = await rawServer((request, response) => {
    const { verb, message, headers } = request;
    if (verb !== "POST") response.writeHead(405).end();
    else if (message.method === "initialize") {
      const id = `s${++count}`;
      sessions.add(id);
      response.setHeader("mcp-session-id", id);
      const serverInfo = { name: "raw", version: "1" };
      result(response, request, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo });
    } else if (!sessions.has(headers["mcp-session-id"])) refuse(response, request);
    else if (message.id === undefined) response.writeHead(202).end();
    else {
      whole.ran++;
      result(response, request, { content: [] });
    }
  });
  const whole = Object.assign(server, {
    ran: 0,
    restart() {
      sessions = new Set();
    },
  });
  return whole;
}

describe.each(refusals)(
  "a server that restarted, and refuses its old session with %s",
  (_, refuse) => {
    test("gets the call in a new session", async () => {
      await using server = await forgetful(refuse);
      await using client = mcpClient(mcpHttpLink(server.url), self);
      await client.callTool("work");
      server.restart();
      expect(await client.callTool("work")).toEqual({ content: [] });
      expect(server.ran).toBe(2);
      const begun = server.seen.filter(({ message }) => message.method === "initialize");
      expect(begun).toHaveLength(2);
    });

    test("gets calls that were made together in one new session", async () => {
      await using server = await forgetful(refuse);
      await using client = mcpClient(mcpHttpLink(server.url), self);
      await client.callTool("work");
      server.restart();
      await Promise.all([client.callTool("a"), client.callTool("b"), client.callTool("c")]);
      expect(server.ran).toBe(4);
      const begun = server.seen.filter(({ message }) => message.method === "initialize");
      expect(begun).toHaveLength(2);
    });
  },
);

test("a 400 that is about the message itself ends no session", async () => {
  const invalid = { code: -32602, message: "Invalid params" };
  let sessions = 0;
  await using server = await rawServer((request, response) => {
    const { verb, message } = request;
    if (verb !== "POST") response.writeHead(405).end();
    else if (message.method === "initialize") {
      response.setHeader("mcp-session-id", `s${++sessions}`);
      const serverInfo = { name: "raw", version: "1" };
      result(response, request, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo });
    } else if (message.id === undefined) response.writeHead(202).end();
    else json(response, { jsonrpc: "2.0", id: message.id, error: invalid }, 400);
  });
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await expect(client.callTool("work")).rejects.toMatchObject({ code: -32602 });
  expect(sessions).toBe(1);
});

test("a call that every session refuses opens one new session, and fails with the server's error", async () => {
  let sessions = 0;
  await using server = await rawServer((request, response) => {
    const { verb, message } = request;
    if (verb !== "POST") response.writeHead(405).end();
    else if (message.method === "initialize") {
      response.setHeader("mcp-session-id", `s${++sessions}`);
      const serverInfo = { name: "raw", version: "1" };
      result(response, request, { protocolVersion: "2025-11-25", capabilities: {}, serverInfo });
    } else if (message.id === undefined) response.writeHead(202).end();
    else json(response, { jsonrpc: "2.0", id: message.id, error: noSession }, 400);
  });
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await expect(client.callTool("work")).rejects.toMatchObject(noSession);
  expect(sessions).toBe(2);
});
