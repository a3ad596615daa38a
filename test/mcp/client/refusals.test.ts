import { createServer, RemoteError, RpcError, silentLog, WireError } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, text, tool } from "callwire/mcp";
import {
  type Authorization,
  type Challenge,
  type McpClient,
  type McpHttpLinkOptions,
  mcpClient,
  mcpHttpLink,
} from "callwire/mcp/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { json, legacy, modern, rawServer, result } from "./raw-server.ts";

const self = { name: "test", version: "1.0.0", log: silentLog };
const eras = ["modern", "legacy"] as const;

let http: HttpServer;
let url: string;

/** The error of a tool that needs more permissions than the caller has. */
function wants(status: number): RpcError {
  return new RpcError(-32004, "more", { scope: "notes write" }, { status });
}

beforeAll(async () => {
  const resource = "http://notes.example/mcp";
  const input = z.object({ status: z.number() });
  const server = mcpServer(
    {
      write: tool({ description: "Write", input }, ({ status }, call) => {
        if (call.principal?.id === "writer") return [text("written")];
        throw wants(status);
      }),
    },
    self,
  );
  const verify = (token: string) => (token === "none" ? undefined : { id: token });
  const authorization = { resource, authorizationServers: ["https://login.example"], verify };
  http = await serveHttp(createServer({}), {
    port: 0,
    mounts: mcpMounts(server, { authorization }),
  });
  url = new URL("/mcp", http.url).href;
});

afterAll(() => http.close());

function clientWith(options: McpHttpLinkOptions, era?: "modern" | "legacy"): McpClient {
  return mcpClient(mcpHttpLink(url, options), { ...self, era });
}

function tokenOf(name: string): McpHttpLinkOptions {
  return { headers: { authorization: `Bearer ${name}` } };
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test.each(eras.flatMap((era) => [401, 403, 503].map((status) => [era, status] as const)))(
  "%s: an error that a tool threw with the status %i is that error, with its data",
  async (era, status) => {
    await using client = clientWith(tokenOf("reader"), era);
    const error = await thrownBy(client.callTool("write", { status }));
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ code: -32004, message: "more", data: { scope: "notes write" } });
  },
);

test.each(eras)(
  "%s: a client that is refused gets the status, and the server's message",
  async (era) => {
    await using client = clientWith(tokenOf("none"), era);
    const error = await thrownBy(client.tools().all());
    expect(error).toBeInstanceOf(WireError);
    expect(error).toMatchObject({ code: "HTTP_STATUS", status: 401, cause: { code: -32001 } });
    expect((error as WireError).cause).toBeInstanceOf(RemoteError);
  },
);

/** Has a token, and gets another one if there is a `next`. */
class Steps implements Authorization {
  readonly challenges: Challenge[] = [];
  #current: string;
  readonly #next: string | undefined;

  constructor(current: string, next?: string) {
    this.#current = current;
    this.#next = next;
  }

  async token(): Promise<string> {
    return this.#current;
  }

  async challenged(challenge: Challenge): Promise<boolean> {
    this.challenges.push(challenge);
    if (this.#next === undefined) return false;
    this.#current = this.#next;
    return true;
  }
}

test("a better token is requested before the error is reported", async () => {
  const authorization = new Steps("reader", "writer");
  await using client = clientWith({ authorization });
  const { content } = await client.callTool("write", { status: 403 });
  expect(content).toEqual([text("written")]);
  expect(authorization.challenges).toMatchObject([
    { status: 403, token: "reader", header: expect.stringContaining('scope="notes write"') },
  ]);
});

test("without a better token, the error is that of the tool", async () => {
  const authorization = new Steps("reader");
  await using client = clientWith({ authorization });
  const error = await thrownBy(client.callTool("write", { status: 403 }));
  expect(error).toMatchObject({ code: -32004, data: { scope: "notes write" } });
  expect(authorization.challenges).toHaveLength(1);
});

test("with a fetch of one's own it is the same", async () => {
  const authorization = new Steps("reader");
  await using client = clientWith({ authorization, fetch: (to, init) => fetch(to, init) });
  const error = await thrownBy(client.callTool("write", { status: 403 }));
  expect(error).toMatchObject({ code: -32004, data: { scope: "notes write" } });
});

test.each([
  ["a page", "<h1>Forbidden</h1>"],
  ["bytes that are no text", Buffer.from([0xff, 0xfe])],
  ["nothing", ""],
])("a 403 with %s is the status alone", async (_, body) => {
  await using server = await rawServer(
    modern((_, response) => response.writeHead(403, { "content-type": "text/html" }).end(body)),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  const error = await thrownBy(client.callTool("write"));
  expect(error).toMatchObject({ code: "HTTP_STATUS", status: 403 });
  expect(error).not.toHaveProperty("cause");
});

test("a greeting that is refused is not repeated in the words of another era", async () => {
  await using server = await rawServer(({ message: { id } }, response) => {
    json(response, { jsonrpc: "2.0", id, error: { code: -32001, message: "Who?" } }, 401);
  });
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await expect(client.connect()).rejects.toMatchObject({
    code: "HTTP_STATUS",
    status: 401,
    cause: { code: -32001, message: "Who?" },
  });
  expect(server.seen).toHaveLength(1);
});

test("a session that is lost before it has begun is started again", async () => {
  let forgotten = 0;
  const answer = legacy((request, response) => result(response, request, { tools: [] }));
  await using server = await rawServer((request, response) => {
    const { method } = request.message;
    if (method === "notifications/initialized" && forgotten++ === 0) response.writeHead(404).end();
    else answer(request, response);
  });
  await using client = mcpClient(mcpHttpLink(server.url, { serverStream: false }), {
    ...self,
    era: "legacy",
  });
  expect(await client.tools().all()).toEqual([]);
  expect(forgotten).toBe(2);
});
