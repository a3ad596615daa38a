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
