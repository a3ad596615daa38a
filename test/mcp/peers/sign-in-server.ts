/** A real authorization server where users sign in, and a browser that does it for them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export interface SignInServer {
  readonly issuer: string;
  /** The requests that it got, as "POST /token". */
  readonly seen: string[];
  close(): Promise<void>;
}

export const redirectUrl = "http://127.0.0.1:1/callback";

export async function startSignInServer(): Promise<SignInServer> {
  const http: Server = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const seen: string[] = [];
  const provider = new Provider(issuer, {
    scopes: ["openid", "offline_access", "mcp", "write"],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: "mcp write",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 60,
          jwt: { sign: { alg: "RS256" } },
        }),
        useGrantedResource: () => true,
      },
    },
  });
  http.on("request", (request, response) => {
    seen.push(`${request.method} ${new URL(request.url ?? "/", issuer).pathname}`);
    provider.callback()(request, response);
  });
  return {
    issuer,
    seen,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

/** Follows redirects and sends the forms off, until the user is sent back to the client. */
export async function signIn(address: URL): Promise<string> {
  const cookies = new Map<string, string>();
  let url = address;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      ...(form !== undefined && { method: "POST", body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
      if (url.href.startsWith(redirectUrl)) return url.href;
      continue;
    }
    const page = await response.text();
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    const [, prompt] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
    if (action === undefined || prompt === undefined) throw new Error(`no form: ${page}`);
    url = new URL(action, url);
    form = new URLSearchParams({ prompt, login: "ada", password: "secret" });
  }
  throw new Error("signing in does not end");
}
