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

/** A text that stands in every URI of a form, or a value of at least one character, without those in `not`. */
export type UriPart = string | { readonly not: string };

/** What stands in a URI for the values of its form, and behind them. */
export interface UriValues {
  readonly values: readonly string[];
  readonly query: string;
}

/**
 * Parts a URI by a form, each value as long as the rest leaves it; undefined where it is not of this form.
 * Each part looks at each place once. An expression would try the ends of all values with each other, and
 * three values with hyphens between them would take it minutes.
 */
export function uriValues(
  uri: string,
  parts: readonly UriPart[],
  hasQuery: boolean,
): UriValues | undefined {
  /** Where each part ends if it begins at a place, and all that follow it fit. */
  const ends: Int16Array[] = [];
  let next = lastEnds(uri, hasQuery);
  for (const part of parts.toReversed()) {
    next = typeof part === "string" ? textEnds(uri, part, next) : valueEnds(uri, part.not, next);
    ends.unshift(next);
  }
  let at = 0;
  const values: string[] = [];
  for (const [i, part] of parts.entries()) {
    const end = ends[i]?.[at] ?? nowhere;
    if (end === nowhere) return undefined;
    if (typeof part !== "string") values.push(uri.slice(at, end));
    at = end;
  }
  return { values, query: uri.slice(at + 1) };
}

const nowhere = -1;

/** Behind the last part comes nothing, or a query. */
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
    if (next[end] !== nowhere) ends[at] = end;
    // An empty one is found at the end again and again.
    if (end === uri.length) break;
  }
  return ends;
}

function valueEnds(uri: string, not: string, next: Int16Array): Int16Array {
  const ends = noEnds(uri);
  for (let at = uri.length - 1; at >= 0; at--) {
    if (not.includes(uri.charAt(at))) continue;
    const longer = ends[at + 1] as number;
    ends[at] = longer === nowhere && next[at + 1] !== nowhere ? at + 1 : longer;
  }
  return ends;
}

function noEnds(uri: string): Int16Array {
  return new Int16Array(uri.length + 1).fill(nowhere);
}

/** The variables of a template that is known by its text; of another one, any. */
export type UriVariables<Template extends string> = string extends Template
  ? Readonly<Record<string, string>>
  : { readonly [Name in NamesIn<Template, "path">]: string } & {
      readonly [Name in NamesIn<Template, "query">]?: string;
    };

/** The names of all variables of a template. */
export type UriVariableName<Template extends string> = string extends Template
  ? string
  : NamesIn<Template, "path"> | NamesIn<Template, "query">;

/** Members of a query may be left out of a URI. */
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

/** Without what says how much of a value is meant: `path*`, `id:3`. */
type Bare<Name> = Name extends `${infer Own}*`
  ? Own
  : Name extends `${infer Own}:${string}`
    ? Own
    : Name & string;
