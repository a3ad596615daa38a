/** A URI template (RFC 6570) that extracts the variables of a URI. */
export interface UriTemplate {
  readonly text: string;
  readonly names: readonly string[];
  /** Undefined if the URI does not match. */
  match(uri: string): Readonly<Record<string, string>> | undefined;
}

/** Longer URIs match nothing; bounds the work for one URI. */
const longestUri = 8192;

/** By operator: what precedes a value, and the characters that end it. */
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
      if (!/^[\w.%]+$/.test(name))
        throw new TypeError(`"${text}" has the invalid variable ${whole}`);
      if (names.includes(name)) throw new TypeError(`"${text}" has the variable ${name} twice`);
      names.push(name);
    }
    const form = forms[operator];
    if (form === undefined) {
      // Query params come in any order, so they are read by name.
      for (const name of variables) queryNames.add(name);
    } else {
      const repeats = operator === "/" || operator === ".";
      // A value must not contain a comma if commas separate the values.
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

/** A literal, or a value of at least one character that contains none of `not`. */
export type UriPart = string | { readonly not: string };

/** The values of a URI, and its query. */
export interface UriValues {
  readonly values: readonly string[];
  readonly query: string;
}

/**
 * Splits a URI into its parts, each value as long as possible; undefined if the URI does not match.
 * Each part visits each position once. A regular expression would backtrack: three values separated by
 * hyphens could take minutes.
 */
function uriValues(
  uri: string,
  parts: readonly UriPart[],
  hasQuery: boolean,
): UriValues | undefined {
  /** For each part: where it ends if it starts at a position and all parts after it match. */
  const ends: Int16Array[] = [];
  let next = lastEnds(uri, hasQuery);
  for (const part of parts.toReversed()) {
    next = typeof part === "string" ? textEnds(uri, part, next) : valueEnds(uri, part.not, next);
    ends.unshift(next);
  }
  let at = 0;
  const values: string[] = [];
  for (const [i, part] of parts.entries()) {
    const end = ends[i]?.[at] ?? noMatch;
    if (end === noMatch) return undefined;
    if (typeof part !== "string") values.push(uri.slice(at, end));
    at = end;
  }
  return { values, query: uri.slice(at + 1) };
}

const noMatch = -1;

/** After the last part comes nothing, or a query. */
function lastEnds(uri: string, hasQuery: boolean): Int16Array {
  const ends = noEnds(uri);
  ends[uri.length] = uri.length;
  for (let at = uri.length - 1; hasQuery && at >= 0 && uri[at] !== "#"; at--) {
    if (uri[at] === "?" || uri[at] === "&") ends[at] = uri.length;
  }
  return ends;
}

function textEnds(uri: string, text: string, next: Int16Array): Int16Array {
  const ends = noEnds(uri);
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1)) {
    const end = at + text.length;
    if (next[end] !== noMatch) ends[at] = end;
    // An empty literal would be found at the end forever.
    if (end === uri.length) break;
  }
  return ends;
}

function valueEnds(uri: string, not: string, next: Int16Array): Int16Array {
  const ends = noEnds(uri);
  for (let at = uri.length - 1; at >= 0; at--) {
    if (not.includes(uri.charAt(at))) continue;
    const longer = ends[at + 1] as number;
    ends[at] = longer === noMatch && next[at + 1] !== noMatch ? at + 1 : longer;
  }
  return ends;
}

function noEnds(uri: string): Int16Array {
  return new Int16Array(uri.length + 1).fill(noMatch);
}

/** The variables of a literal template; any names for `string`. */
export type UriVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : { readonly [Name in NamesIn<Template, "path">]: string } & {
      readonly [Name in NamesIn<Template, "query">]?: string;
    };

/** The names of all variables of a template. */
export type UriVariableName<Template extends string> = string extends Template
  ? string
  : NamesIn<Template, "path"> | NamesIn<Template, "query">;

/** Query params are optional. */
type Part = "path" | "query";

type NamesIn<
  Template,
  Wanted extends Part,
> = Template extends `${string}{${infer List}}${infer Rest}`
  ? NamesOf<List, Wanted> | NamesIn<Rest, Wanted>
  : never;

type NamesOf<List, Wanted extends Part> = List extends `${"?" | "&" | ";"}${infer Names}`
  ? Wanted extends "query"
    ? EachOf<Names>
    : never
  : Wanted extends "path"
    ? EachOf<List extends `${"+" | "#" | "." | "/"}${infer Names}` ? Names : List>
    : never;

type EachOf<Names> = Names extends `${infer First},${infer Rest}`
  ? Bare<First> | EachOf<Rest>
  : Bare<Names>;

/** The name without modifiers: `path*`, `id:3`. */
type Bare<Name> = Name extends `${infer Own}*`
  ? Own
  : Name extends `${infer Own}:${string}`
    ? Own
    : Name & string;
