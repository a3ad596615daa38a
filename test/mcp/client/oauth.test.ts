import { silentLog } from "callwire";
import {
  type McpClient,
  mcpClient,
  mcpHttpLink,
  type OAuthOptions,
  oauth,
} from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../../transports/contract/wire.ts";
import { type Answer, type OwnIssuer, ownIssuer } from "./own-issuer.ts";
import { json } from "./raw-server.ts";

const redirectUrl = "http://127.0.0.1:7777/callback";
const done = { isDone: true };

/** A client whose user signs in whenever that is required, and how often that was. */
function clientOf({ url }: Pick<OwnIssuer, "url">, options: OAuthOptions = {}) {
  const signIns: URL[] = [];
  const authorize = (address: URL): string => {
    signIns.push(address);
    return `${redirectUrl}?code=x&state=${address.searchParams.get("state")}`;
  };
  const authorization = oauth({ redirectUrl, authorize, ...options });
  const client = mcpClient(mcpHttpLink(url, { authorization }), {
    name: "test",
    version: "1.0.0",
    era: "modern",
    log: silentLog,
  });
  onTestFinished(() => client.close());
  return { client, signIns };
}

function ask(client: McpClient): Promise<unknown> {
  return client.request("x/ask");
}

test("a server that pretends to be the client's issuer does not get the secret", async () => {
  const issuer = "https://login.example";
  const server = await ownIssuer({ issuer });
  const own = { clientId: "c", clientSecret: "secret", issuer };
  for (const options of [own, { ...own, authorize: undefined }]) {
    const { client } = clientOf(server, options as OAuthOptions);
    await expect(ask(client)).rejects.toThrow(`describes ${issuer}, not ${server.origin}`);
  }
  expect(server.grants()).toEqual([]);
});

test.each([
  ["a secret", { clientId: "c", clientSecret: "s" }, '"clientSecret" requires "issuer"'],
  ["a secret alone", { clientSecret: "s" }, '"clientSecret" requires "issuer"'],
  [
    "a statement for an id",
    { clientId: "c", clientAssertion: () => "signed" },
    '"clientAssertion" with "clientId" requires "issuer"',
  ],
])("%s without the issuer that it is for is refused at once", (_, options, sentence) => {
  const make = () => oauth(options as OAuthOptions);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(sentence);
});

test("the types require an issuer with a secret", () => {
  // @ts-expect-error: the issuer is missing
  expect(() => oauth({ clientId: "c", clientSecret: "s" })).toThrow();
  // @ts-expect-error: the issuer is missing
  expect(() => oauth({ clientId: "c", clientAssertion: () => "signed" })).toThrow();
  oauth({ clientId: "c", clientSecret: "s", issuer: "https://login.example" });
  oauth({ clientMetadataUrl: "https://a.example/client.json", clientAssertion: () => "signed" });
});

describe("a client with a secret, led to an issuer that does not know it", () => {
  const issuer = "https://login.example";

  /** An MCP server that names any issuers; all requests that it got, and their credentials. */
  function hostile(issuers: readonly string[]) {
    const asked: { readonly url: string; readonly sent: string }[] = [];
    const resource = "https://mcp.example/mcp";
    const fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
      const { authorization = "" } = Object.fromEntries(new Headers(init.headers));
      asked.push({ url, sent: `${authorization} ${init.body ?? ""}` });
      const answer = (status: number, body: object) =>
        new Response(JSON.stringify(body), { status });
      if (url === resource) return answer(401, {});
      if (url.startsWith("https://mcp.example/")) {
        return answer(200, { resource, authorization_servers: issuers });
      }
      const { origin } = new URL(url);
      if (!url.includes("/.well-known/")) return answer(200, { access_token: "t" });
      return answer(200, { issuer: origin, token_endpoint: `${origin}/token` });
    };
    return { asked, fetch, url: resource };
  }

  async function outcome(
    { fetch, url }: ReturnType<typeof hostile>,
    options: OAuthOptions,
  ): Promise<unknown> {
    const authorization = oauth({ fetch, ...options });
    return authorization
      .challenged({ status: 401, header: undefined, token: undefined, url, attempt: 1 })
      .catch((error: unknown) => error);
  }

  test.each<[string, OAuthOptions]>([
    ["its secret", { clientId: "c", clientSecret: "secret", issuer }],
    ["a statement", { clientId: "c", clientAssertion: () => "secret", issuer }],
  ])("does not show %s there", async (_, options) => {
    const server = hostile(["https://evil.example"]);
    expect(String(await outcome(server, options))).toContain(
      `the client is registered with ${issuer}, not with https://evil.example`,
    );
    expect(server.asked.map(({ url }) => new URL(url).host)).not.toContain("evil.example");
  });

  test("does not send stored credentials either", async () => {
    const server = hostile(["https://evil.example"]);
    const kept = { clientId: "c", clientSecret: "secret", authMethod: "client_secret_post" };
    const token = { accessToken: "a", refreshToken: "r", issuer: "https://evil.example" };
    const store = new Map([
      ["client https://evil.example", JSON.stringify(kept)],
      [
        `tokens ${server.url}`,
        JSON.stringify({ ...token, expiresAt: 0, tokenEndpoint: "https://evil.example/token" }),
      ],
    ]);
    const options = { clientId: "c", clientSecret: "secret", issuer, store };
    await outcome(server, options);
    await oauth({ fetch: server.fetch, ...options }).token(server.url);
    expect(server.asked.filter(({ sent }) => sent.includes("secret"))).toEqual([]);
  });

  test("uses its own issuer if the server names several", async () => {
    const server = hostile(["https://evil.example", issuer]);
    const options = { clientId: "c", clientSecret: "secret", issuer };
    expect(await outcome(server, options)).toBe(true);
    expect(server.asked.at(-1)?.url).toBe(`${issuer}/token`);
  });
});

test("a server that was not configured may have its own issuer path, and renews tokens too", async () => {
  const server = await ownIssuer();
  const { origin } = server;
  server.answers.set("/.well-known/oauth-authorization-server", (_, response) =>
    json(response, {
      issuer: `${origin}/oauth`,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ["S256"],
    }),
  );
  const { client, signIns } = clientOf(server);
  expect(await ask(client)).toMatchObject(done);
  server.good.clear();
  expect(await ask(client)).toMatchObject(done);
  expect(server.grants()).toEqual(["authorization_code", "refresh_token"]);
  expect(signIns).toHaveLength(1);
});

test("a token is not thrown away because the server that renews it is down", async () => {
  const server = await ownIssuer();
  const { client, signIns } = clientOf(server);
  await ask(client);
  const give = server.answers.get("/token") as Answer;
  for (const status of [503, 429]) {
    server.good.clear();
    server.answers.set("/token", (_, response) => json(response, {}, status));
    await expect(ask(client)).rejects.toThrow(`did not issue a token: status ${status}`);
    server.answers.set("/token", give);
    expect(await ask(client)).toMatchObject(done);
  }
  expect(signIns).toHaveLength(1);
});

test("a token is used until it expires while its server is down", async () => {
  const server = await ownIssuer();
  const clock = new FakeClock();
  const { client, signIns } = clientOf(server, { clock });
  const give = server.answers.get("/token") as Answer;
  server.answers.set("/token", (_, response) => {
    server.good.add("short");
    json(response, { access_token: "short", refresh_token: "r", expires_in: 5 });
  });
  await ask(client);
  server.answers.set("/token", (_, response) => json(response, {}, 503));
  expect(await ask(client)).toMatchObject(done);
  clock.advance(6_000);
  await expect(ask(client)).rejects.toThrow("did not issue a token: status 503");
  server.answers.set("/token", give);
  expect(await ask(client)).toMatchObject(done);
  expect(signIns).toHaveLength(1);
});

test("a server that has forgotten the client registers it again", async () => {
  const server = await ownIssuer();
  const { client, signIns } = clientOf(server);
  await ask(client);
  server.good.clear();
  const give = server.answers.get("/token") as Answer;
  server.answers.set("/register", (_, response) => json(response, { client_id: "anew" }, 201));
  server.answers.set("/token", (asked, response) => {
    const isKnown = new URLSearchParams(asked.body).get("client_id") === "anew";
    return isKnown ? give(asked, response) : json(response, { error: "invalid_client" }, 401);
  });
  expect(await ask(client)).toMatchObject(done);
  const ids = signIns.map(({ searchParams }) => searchParams.get("client_id"));
  expect(ids).toEqual(["c", "anew"]);
});

test("a call that is refused while the renewal of its token fails waits for the sign-in too", async () => {
  const server = await ownIssuer();
  const clock = new FakeClock();
  const { answers } = server;
  const { client, signIns } = clientOf(server, { clock });
  await ask(client);
  // The first call is on its way with the old token when the second finds that it expires soon.
  const [arrived, refused, asking, denied] = [deferred(), deferred(), deferred(), deferred()];
  const [mcp, give] = ["/mcp", "/token"].map((path) => answers.get(path)) as [Answer, Answer];
  answers.set("/mcp", async (_, response) => {
    answers.set("/mcp", mcp);
    server.good.clear();
    arrived.resolve();
    await refused.promise;
    json(response, {}, 401);
  });
  answers.set("/token", async (_, response) => {
    answers.set("/token", give);
    asking.resolve();
    await denied.promise;
    json(response, { error: "invalid_grant" }, 400);
  });
  const first = ask(client);
  await arrived.promise;
  clock.advance(3_595_000);
  const second = ask(client);
  await asking.promise;
  answers.set("/.well-known/oauth-protected-resource/mcp", (_, response) => {
    // By now the first has started to look for a better token.
    denied.resolve();
    json(response, {}, 404);
  });
  refused.resolve();
  expect(await Promise.all([first, second])).toMatchObject([done, done]);
  expect(signIns).toHaveLength(2);
});

test("a token that was renewed while a refused call finds its way is not renewed again", async () => {
  const server = await ownIssuer();
  const clock = new FakeClock();
  const { answers } = server;
  const { client, signIns } = clientOf(server, { clock });
  await ask(client);
  const [looking, told] = [deferred(), deferred()];
  answers.set("/.well-known/oauth-protected-resource/mcp", async (_, response) => {
    looking.resolve();
    await told.promise;
    json(response, {}, 404);
  });
  clock.advance(3_585_000);
  server.good.clear();
  const refused = ask(client);
  await looking.promise;
  // Now the token is about to expire.
  clock.advance(10_000);
  expect(await ask(client)).toMatchObject(done);
  told.resolve();
  expect(await refused).toMatchObject(done);
  expect(server.grants()).toEqual(["authorization_code", "refresh_token"]);
  expect(signIns).toHaveLength(1);
});

test("tokens that another process has renewed are not forgotten with the ones before", async () => {
  const server = await ownIssuer();
  const store = new Map<string, string>();
  const { client, signIns } = clientOf(server, { store });
  await ask(client);
  server.good.clear();
  server.answers.set("/token", (_, response) => {
    const key = `tokens ${server.url}`;
    store.set(key, JSON.stringify({ ...JSON.parse(store.get(key) ?? ""), accessToken: "theirs" }));
    server.good.add("theirs");
    json(response, { error: "invalid_grant" }, 400);
  });
  expect(await ask(client)).toMatchObject(done);
  expect(server.asked.at(-1)?.authorization).toBe("Bearer theirs");
  expect(signIns).toHaveLength(1);
});

test.each([
  ["alone", 'Bearer error="insufficient_scope", scope="write"'],
  ["without quotes", "bearer error = insufficient_scope , scope=write"],
  [
    "behind another",
    'Basic realm="x, Bearer scope=none", Bearer error="insufficient_scope", scope="write"',
  ],
  ["before another", 'Bearer scope="write", error="insufficient_scope", Basic scope="none"'],
  [
    "with a quote in it",
    'Bearer realm="a \\"b\\", scope=none", error="insufficient_scope", scope="write"',
  ],
  [
    "behind words without quotes",
    "Bearer error=insufficient_scope, error_description=It lacks a scope, scope=write",
  ],
])("a missing scope is requested even if none was named before: %s", async (_, header) => {
  const server = await ownIssuer();
  const { client, signIns } = clientOf(server);
  await ask(client);
  const mcp = server.answers.get("/mcp") as Answer;
  server.answers.set("/mcp", (_, response) => {
    server.answers.set("/mcp", mcp);
    response.setHeader("www-authenticate", header);
    json(response, {}, 403);
  });
  expect(await ask(client)).toMatchObject(done);
  expect(signIns.map(({ searchParams }) => searchParams.get("scope"))).toEqual([null, "write"]);
});

test("a user whose token has all scopes that the client asks for does not sign in again for others", async () => {
  const server = await ownIssuer();
  const { client, signIns } = clientOf(server, { scope: "read" });
  await ask(client);
  server.answers.set("/mcp", (_, response) => {
    response.setHeader("www-authenticate", 'Bearer error="insufficient_scope", scope="write"');
    json(response, {}, 403);
  });
  await expect(ask(client)).rejects.toMatchObject({ code: "HTTP_STATUS", status: 403 });
  expect(signIns.map(({ searchParams }) => searchParams.get("scope"))).toEqual(["read"]);
});

test("an authorization server that never answers blocks no call forever", async () => {
  const server = await ownIssuer();
  const clock = new FakeClock();
  const { client, signIns } = clientOf(server, { clock });
  const { answers } = server;
  const path = "/.well-known/oauth-authorization-server";
  const tell = answers.get(path) as Answer;
  const silent = deferred();
  answers.set(path, () => silent.resolve());
  const first = ask(client);
  await silent.promise;
  clock.advance(30_000);
  await expect(first).rejects.toThrow("no response from");
  answers.set(path, tell);
  expect(await ask(client)).toMatchObject(done);
  expect(signIns).toHaveLength(1);
});

test.each([
  "https://0.0.0.0",
  "https://127.1",
  "https://[::]",
  "https://[::1]",
  "https://[::ffff:127.0.0.1]",
  "https://localhost.",
  "https://admin.localhost",
])(
  "a server elsewhere cannot lead the client to %s, which is the user's machine",
  async (place) => {
    const asked: string[] = [];
    const answer = (status: number, body: object) => new Response(JSON.stringify(body), { status });
    const fetch = async (url: string): Promise<Response> => {
      asked.push(url);
      if (!url.startsWith("https://mcp.example/")) return answer(200, {});
      const resource = "https://mcp.example/mcp";
      return answer(url === resource ? 401 : 200, { resource, authorization_servers: [place] });
    };
    const authorization = oauth({ redirectUrl, authorize: () => redirectUrl, fetch });
    await using client = mcpClient(
      mcpHttpLink("https://mcp.example/mcp", { authorization, fetch }),
      {
        name: "test",
        version: "1.0.0",
        era: "modern",
      },
    );
    await expect(ask(client)).rejects.toThrow("must not send the client to");
    expect(asked.every((url) => url.startsWith("https://mcp.example/"))).toBe(true);
  },
);

test("an invalid address in the metadata is reported", async () => {
  const server = await ownIssuer({ registration_endpoint: "/register" });
  const { client } = clientOf(server);
  await expect(ask(client)).rejects.toThrow("/register is not safe for authorization");
});
