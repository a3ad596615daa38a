import { type UriPart, uriValues } from "./uri-values.ts";

/** A template of RFC 6570, read in the direction that servers need: from a URI to its variables. */
export interface UriTemplate {
  readonly text: string;
  readonly names: readonly string[];
  /** Undefined where the URI is not of this form. */
  match(uri: string): Readonly<Record<string, string>> | undefined;
}

/** Longer URIs match nothing: no template may be made to work for long. */
const longestUri = 8192;

/** What a variable may not hold, by the operator before it: each value stops at what begins the next part. */
const forms: Readonly<Record<string, { lead: string; not: string }>> = {
  "": { lead: "", not: "/?#&" },
  "+": { lead: "", not: "?#" },
  "#": { lead: "#", not: "\n\r" },
  ".": { lead: ".", not: "/?#." },
  "/": { lead: "/", not: "/?#" },
};

export function uriTemplate(text: string): UriTemplate {
  const names: string[] = [];
  const queryNames = new Set<string>();
  const parts: UriPart[] = [];
  let at = 0;
  for (const { 0: whole, 1: operator = "", 2: list = "", index } of text.matchAll(
    /\{([+#./?&;]?)([^{}]*)\}/g,
  )) {
    parts.push(text.slice(at, index));
    at = index + whole.length;
    const variables = list.split(",").map((variable) => variable.replace(/[*]$|:\d+$/, ""));
    for (const name of variables) {
      if (!/^[\w.%]+$/.test(name)) throw new TypeError(`"${text}" has no proper variable ${whole}`);
      if (names.includes(name)) throw new TypeError(`"${text}" has the variable ${name} twice`);
      names.push(name);
    }
    const form = forms[operator];
    if (form === undefined) {
      // Members of a query come in any order, so they are read one by one.
      for (const name of variables) queryNames.add(name);
    } else {
      const repeats = operator === "/" || operator === ".";
      // Where commas part the values none may hold one.
      const comma = repeats || variables.length === 1 ? "" : ",";
      for (const i of variables.keys()) {
        parts.push(i === 0 || repeats ? form.lead : ",", { not: form.not + comma });
      }
    }
  }
  parts.push(text.slice(at));
  const placed = names.filter((name) => !queryNames.has(name));
  return {
    text,
    names,
    match(uri) {
      if (uri.length > longestUri) return undefined;
      const found = uriValues(uri, parts, queryNames.size > 0);
      if (found === undefined) return undefined;
      const entries = placed.map((name, i) => [name, decoded(found.values[i] ?? "")] as const);
      const query = new URLSearchParams(found.query);
      const asked = [...queryNames].flatMap((name) => {
        const value = query.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      return Object.fromEntries([...entries, ...asked]);
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
