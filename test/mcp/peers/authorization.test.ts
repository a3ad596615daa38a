/** Tokens of a real authorization server, and the official client that discovers it. */
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { jwt } from "callwire/security/jwt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownPort } from "../../own-port.ts";
import { describeWith } from "../../services.ts";
import { HttpClient, request } from "../server/asking.ts";
import type { AuthorizationServer } from "./authorization-server.ts";

describeWith(["mcp peers"], "oidc-provider as authorization server", () => {
  let as: AuthorizationServer;
  let http: HttpServer;
  let url: string;

  beforeAll(async () => {
    const { startAuthorizationServer } = await import("./authorization-server.ts");
    as = await startAuthorizationServer();
    const server = mcpServer(
      { who: tool({}, (_, call) => call.principal?.id ?? "nobody") },
      { name: "test", version: "1", log: silentLog },
    );
    // The address is part of the resource's name, so it is determined before anything is mounted
    // there.
    const port = await ownPort();
    url = `http://127.0.0.1:${port}/mcp`;
    const mounts = mcpMounts(server, {
      authorization: {
        resource: url,
        authorizationServers: [as.issuer],
        requiredScopes: ["mcp"],
        verify: jwt({ issuer: as.issuer, audience: url, jwksUrl: `${as.issuer}/jwks` }),
      },
    });
    http = await serveHttp(createServer({}), { port, mounts });
  });

  afterAll(async () => {
    await http.close();
    await as.close();
  });

  const bearer = (token: string): HttpClient =>
    new HttpClient(url, "2025-11-25", { authorization: `Bearer ${token}` });

  test("a client that follows the challenge gets in", async () => {
    const refused = await new HttpClient(url).initialize();
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get("www-authenticate") ?? "";
    const place = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
    const scope = /scope="([^"]+)"/.exec(challenge)?.[1] ?? "";
    const metadata = await (await fetch(place)).json();
    expect(metadata).toMatchObject({ resource: url, authorization_servers: [as.issuer] });
    const client = bearer(await as.token(scope, metadata.resource));
    expect((await client.initialize()).status).toBe(200);
    const { result } = await (await client.post(request("tools/call", { name: "who" }))).json();
    expect(result.content[0].text).toBe("agent");
  });

  test("a token for another resource, without the scope, or changed, does not", async () => {
    const statusOf = async (token: string): Promise<number> =>
      (await bearer(token).initialize()).status;
    expect(await statusOf(await as.token("mcp", "https://other.example/mcp"))).toBe(401);
    expect(await statusOf(await as.token("write", url))).toBe(403);
    const token = await as.token("mcp", url);
    expect(await statusOf(`${token.slice(0, -4)}AAAA`)).toBe(401);
  });
});
