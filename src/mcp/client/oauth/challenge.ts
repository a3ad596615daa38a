/** The params of a Bearer challenge in `WWW-Authenticate`; empty where there is none. */
export function bearerChallenge(header: string | undefined): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  const [, rest = ""] = /(?:^|,)\s*Bearer(?:\s+(.*))?$/is.exec(header ?? "") ?? [];
  // Up to the next scheme, which has no equals sign after its name.
  for (const [, name = "", quoted, plain] of rest.matchAll(
    /([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))\s*(?:,|$)/g,
  )) {
    const key = name.toLowerCase();
    if (!params.has(key)) params.set(key, quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "");
  }
  return params;
}
