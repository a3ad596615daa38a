/** Our client signs in at a real authorization server, for our own server. */
import { type McpClient, mcpClient, mcpHttpLink, oauth } from "callwire/mcp/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { type GuardedServer, startGuardedServer } from "./guarded-server.ts";
import type { SignInServer } from "./sign-in-server.ts";

describeWith(["mcp peers"], "OAuth with oidc-provider", () => {
  let parts: typeof import("./sign-in-server.ts");
  let as: SignInServer;
  let server: GuardedServer;
  let url: string;

  beforeAll(async () => {
    parts = await import("./sign-in-server.ts");
    as = await parts.startSignInServer();
    server = await startGuardedServer(as.issuer);
    url = server.url;
  });

  afterAll(async () => {
    await server.close();
    await as.close();
  });

  // One user's session, in order: a user who has signed in is not asked again.
  for (const era of ["modern", "legacy"] as const) {
    describe(era, { shuffle: false }, () => {
      let client: McpClient;
      let signedIn = 0;
      const kept = new Map<string, string>();
      const made = (): McpClient =>
        mcpClient(
          mcpHttpLink(url, {
            authorization: oauth({
              redirectUrl: parts.redirectUrl,
              clientName: "test",
              authorize: (address) => {
                signedIn++;
                return parts.signIn(address);
              },
              store: kept,
            }),
          }),
          { name: "test", version: "1.0.0", era },
        );

      beforeAll(() => {
        client = made();
      });
      afterAll(() => client.close());

      test("the user signs in once, however many requests wait for it", async () => {
        await client.connect();
        const results = await Promise.all([1, 2, 3].map(() => client.callTool("who")));
        for (const { content } of results) expect(content).toMatchObject([{ text: "ada" }]);
        expect(signedIn).toBe(1);
        expect(as.seen.filter((line) => line === "POST /reg").length).toBeGreaterThan(0);
      });

      test("a token that is refused is renewed without the user", async () => {
        server.revoked.add(server.sent.at(-1) as string);
        const { content } = await client.callTool("who");
        expect(content).toMatchObject([{ text: "ada" }]);
        expect(signedIn).toBe(1);
      });

      test("stored tokens are used by the next process", async () => {
        await using next = made();
        const { content } = await next.callTool("who");
        expect(content).toMatchObject([{ text: "ada" }]);
        expect(signedIn).toBe(1);
      });

      test("a missing scope is requested in addition to the present ones", async () => {
        const { content } = await client.callTool("write");
        expect(content).toMatchObject([{ text: "written" }]);
        expect(signedIn).toBe(2);
        const { content: still } = await client.callTool("who");
        expect(still).toMatchObject([{ text: "ada" }]);
      });
    });
  }

  test("a user who is refused gets an error, and the call fails", async () => {
    await using client = mcpClient(
      mcpHttpLink(url, {
        authorization: oauth({
          redirectUrl: parts.redirectUrl,
          authorize: (address) =>
            `${parts.redirectUrl}?error=access_denied&iss=${encodeURIComponent(as.issuer)}&state=${address.searchParams.get("state")}`,
        }),
      }),
      { name: "test", version: "1.0.0" },
    );
    await expect(client.tools().all()).rejects.toMatchObject({ reason: "access_denied" });
  });

  test("an answer of another sign-in is not taken", async () => {
    await using client = mcpClient(
      mcpHttpLink(url, {
        authorization: oauth({
          redirectUrl: parts.redirectUrl,
          authorize: () => `${parts.redirectUrl}?code=stolen&state=other`,
        }),
      }),
      { name: "test", version: "1.0.0" },
    );
    await expect(client.tools().all()).rejects.toThrow("another sign-in");
  });

  test("without authorization the error has the status", async () => {
    await using client = mcpClient(mcpHttpLink(url), { name: "test", version: "1.0.0" });
    await expect(client.tools().all()).rejects.toMatchObject({ code: "HTTP_STATUS", status: 401 });
  });
});
