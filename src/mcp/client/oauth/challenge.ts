/**
 * A word and, where one follows, its value; a text that nobody closes goes to the end; a comma. Whatever else there is is
 * passed over, so that each character is looked at once or twice.
 */
const parts =
  /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s,"]*)))?|"(?:[^"\\]|\\.)*"?|,/gs;

/** The params of the first Bearer challenge in `WWW-Authenticate`; empty where there is none. */
export function bearerChallenge(header: string | undefined): ReadonlyMap<string, string> {
  const params = new Map<string, string>();
  let scheme = "";
  let isFirst = true;
  for (const [part, word = "", quoted, plain] of (header ?? "").matchAll(parts)) {
    const name = word.toLowerCase();
    const value = quoted?.replace(/\\(.)/gs, "$1") ?? plain;
    if (value !== undefined) {
      if (scheme === "bearer" && !params.has(name)) params.set(name, value);
    } else if (isFirst && name !== "") {
      // A word without a value begins the next challenge; others are of a text that lacks its quotes.
      if (scheme === "bearer") break;
      scheme = name;
    }
    isFirst = part === ",";
  }
  return params;
}
