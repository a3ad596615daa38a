/** A real authorization server where users sign in, and a browser that does it for them. */
import { type RunningProvider, startProvider } from "./oidc.ts";

export interface SignInServer extends RunningProvider {
  /** The requests that it got, as "POST /token". */
  readonly seen: string[];
}

export const redirectUrl = "http://127.0.0.1:1/callback";

export async function startSignInServer(): Promise<SignInServer> {
  const seen: string[] = [];
  const provider = await startProvider(
    {
      scopes: ["openid", "offline_access", "mcp", "write"],
      pkce: { required: () => true },
      features: { devInteractions: { enabled: true }, registration: { enabled: true } },
    },
    ({ method, url = "/" }) => seen.push(`${method} ${new URL(url, "http://localhost").pathname}`),
  );
  return { ...provider, seen };
}

/** Follows redirects and sends the forms off, until the user is sent back to the client. */
export async function signIn(address: URL): Promise<string> {
  const cookies = new Map<string, string>();
  let url = address;
  let form: URLSearchParams | undefined;
  const home = address.searchParams.get("redirect_uri") ?? redirectUrl;
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
      if (url.href.startsWith(home)) return url.href;
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
