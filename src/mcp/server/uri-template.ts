/** A template of RFC 6570, read in the direction that servers need: from a URI to its variables. */
export interface UriTemplate {
  readonly text: string;
  readonly names: readonly string[];
  /** Undefined where the URI is not of this form. */
  match(uri: string): Readonly<Record<string, string>> | undefined;
}

/** Longer URIs match nothing: no pattern may be made to work for long. */
const longestUri = 8192;

/** What a variable may not hold, by the operator before it: each value stops at what begins the next part. */
const forms: Readonly<Record<string, { lead: string; not: string }>> = {
  "": { lead: "", not: "/?#&" },
  "+": { lead: "", not: "?#" },
  "#": { lead: "#", not: "\\n\\r" },
  ".": { lead: "\\.", not: "/?#." },
  "/": { lead: "/", not: "/?#" },
};

export function uriTemplate(text: string): UriTemplate {
  const names: string[] = [];
  const queryNames = new Set<string>();
  let pattern = "";
  let at = 0;
  for (const { 0: whole, 1: operator = "", 2: list = "", index } of text.matchAll(
    /\{([+#./?&;]?)([^{}]*)\}/g,
  )) {
    pattern += escaped(text.slice(at, index));
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
      // Where commas part the values none may hold one, or a URI could be parted in very many ways.
      const comma = repeats || variables.length === 1 ? "" : ",";
      pattern += variables
        .map((_, i) => `${i === 0 || repeats ? form.lead : ","}([^${form.not}${comma}]+)`)
        .join("");
    }
  }
  pattern += escaped(text.slice(at));
  const expression = new RegExp(
    `^${pattern}${queryNames.size > 0 ? "(?:[?&]([^#]*))?" : ""}$`,
    "u",
  );
  const placed = names.filter((name) => !queryNames.has(name));
  return {
    text,
    names,
    match(uri) {
      if (uri.length > longestUri) return undefined;
      const found = expression.exec(uri);
      if (found === null) return undefined;
      const entries = placed.map((name, i) => [name, decoded(found[i + 1] ?? "")] as const);
      const query = new URLSearchParams(found[placed.length + 1] ?? "");
      const asked = [...queryNames].flatMap((name) => {
        const value = query.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      return Object.fromEntries([...entries, ...asked]);
    },
  };
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
