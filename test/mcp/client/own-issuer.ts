/** An MCP server that issues its own tokens, as servers did before 2025-06-18; the test writes its answers. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { json, modern, result } from "./raw-server.ts";

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

export type Answer = (asked: Asked, response: ServerResponse) => unknown;

export interface OwnIssuer {
  readonly origin: string;
  readonly url: string;
  /** The requests, in order. */
  readonly asked: Asked[];
  /** The answer at a path; a test may replace it. */
  readonly answers: Map<string, Answer>;
  /** The tokens that the server accepts. */
  readonly good: Set<string>;
  /** The kinds of grant for which tokens were requested. */
  readonly grants: () => (string | null)[];
}

export async function ownIssuer(metadata: object = {}): Promise<OwnIssuer> {
  const good = new Set<string>();
  const asked: Asked[] = [];
  const talk = modern((request, response) =>
    result(response, request, { resultType: "complete", isDone: true }),
  );
  const answers = new Map<string, Answer>([
    [
      "/.well-known/oauth-authorization-server",
      (_, response) =>
        json(response, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ["S256"],
          ...metadata,
        }),
    ],
    ["/register", (_, response) => json(response, { client_id: "c" }, 201)],
    [
      "/token",
      (_, response) => {
        const access_token = `token-${asked.length}`;
        good.add(access_token);
        const rest = { token_type: "bearer", expires_in: 3_600, refresh_token: "more" };
        json(response, { access_token, ...rest });
      },
    ],
    [
      "/mcp",
      ({ authorization = "", path, body }, response) => {
        if (!good.has(authorization.slice("Bearer ".length))) json(response, {}, 401);
        else talk({ verb: "POST", path, headers: {}, message: JSON.parse(body) }, response);
      },
    ],
  ]);
  const http = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const { url: path = "", headers } = request;
    const each = { path, authorization: headers.authorization, body };
    asked.push(each);
    const answer = answers.get(path);
    if (answer === undefined) json(response, {}, 404);
    else answer(each, response);
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const grants = () =>
    asked
      .filter(({ path }) => path === "/token")
      .map(({ body }) => new URLSearchParams(body).get("grant_type"));
  return { origin, url: `${origin}/mcp`, asked, answers, good, grants };
}
