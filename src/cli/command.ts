import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Failure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";

const packageFile = fileURLToPath(import.meta.resolve("callwire/package.json"));

export const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

export interface Option {
  readonly type: "string" | "boolean";
  readonly description: string;
  /** Placeholder for the value in the help: `--port <number>`. */
  readonly value?: string;
  readonly short?: string;
  /** The option may be repeated; its value is then an array. */
  readonly multiple?: true;
}

export function option<const More extends Pick<Option, "short" | "multiple"> = object>(
  value: string,
  description: string,
  more?: More,
) {
  return { type: "string", value, description, ...(more as More) } as const;
}

export function flag(description: string) {
  return { type: "boolean", description } as const;
}

export type Options = { readonly [name: string]: Option };

export type Flags<O extends Options> = {
  readonly [Name in keyof O]: FlagOf<O[Name]> | undefined;
};

type FlagOf<O extends Option> = O["type"] extends "boolean"
  ? boolean
  : O extends { readonly multiple: true }
    ? readonly string[]
    : string;

/** A verb of the command line: a file in commands/ and an entry in main.ts. */
export interface Command<O extends Options = Options> {
  /** What follows the verb, such as `<module> [options]`. */
  readonly usage: string;
  /** A sentence that the help shows below the usage. */
  readonly about?: string;
  readonly options: O;
  /** Lines that work when pasted, each with its purpose. */
  readonly examples: readonly (readonly [line: string, purpose: string])[];
  /** Resolves when the command is done; throws a Failure for anything that the user can fix. */
  run(flags: Flags<O>, positionals: readonly string[]): Promise<void>;
}

/** Infers the flags of a command from its options; the result hides that type. */
export function defineCommand<const O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command;
}

const help: Option = { ...flag("show this help"), short: "h" };

export interface Verb {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

export async function runVerb(name: string, { summary, load }: Verb, args: string[]) {
  const { command } = await load();
  const { values, positionals } = parse(name, { ...command.options, help }, args);
  if (values.help === true) console.log(helpOf(name, summary, command));
  else await command.run(values as Flags<Options>, positionals);
}

/** Marks negative numbers so that they are not parsed as options; arguments cannot contain it. */
const negative = "\0";

type Parsed = Pick<ReturnType<typeof parseArgs>, "values" | "positionals">;

function parse(verb: string, options: Options, args: string[]): Parsed {
  const marked = args.map((arg) => (/^-\d/.test(arg) ? negative + arg : arg));
  const { values, positionals, tokens } = parseArgs({
    args: marked,
    options,
    allowPositionals: true,
    // Node's errors are sentences; the tokens say the same as data.
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option") checkOption(verb, options, token);
  }
  return {
    values: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, unmarked(value)]),
    ),
    positionals: positionals.map(unmarked) as string[],
  };
}

type Token = Partial<Record<"value" | "inlineValue", unknown>> & Record<"name" | "rawName", string>;

function checkOption(verb: string, options: Options, token: Token): void {
  const { name, rawName, value, inlineValue } = token;
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  const see = `callwire ${verb} --help`;
  if (option === undefined) {
    const guess = didYouMean(name, Object.keys(options), (known) => `--${known}`);
    throw new Failure(`unknown option ${rawName}${orSee(guess, see)}`);
  }
  const isMissing = value === undefined || (inlineValue !== true && /^-./.test(`${value}`));
  if (option.type === "string" && isMissing)
    throw new Failure(`${rawName} needs a value; see "${see}"`);
  if (option.type === "boolean" && value !== undefined)
    throw new Failure(`${rawName} does not take a value; see "${see}"`);
}

function unmarked(value: unknown): never {
  if (Array.isArray(value)) return value.map(unmarked) as never;
  return (typeof value === "string" ? value.replace(negative, "") : value) as never;
}

export function orSee(guess: string, help: string): string {
  return guess === "" ? `; see "${help}"` : `${guess} See "${help}"`;
}

function helpOf(verb: string, summary: string, command: Command): string {
  const options = Object.entries({ ...command.options, help }).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const value = option.value === undefined ? "" : ` <${option.value}>`;
    return [`${short}--${name}${value}`, option.description] as const;
  });
  return [
    `callwire ${verb}: ${summary}`,
    "",
    `Usage: callwire ${verb} ${command.usage}`,
    ...(command.about === undefined ? [] : ["", command.about]),
    "",
    "Options:",
    ...columns(options),
    "",
    command.examples.length === 1 ? "Example:" : "Examples:",
    ...command.examples.flatMap(([line, purpose]) => [`  # ${purpose}`, `  ${line}`]),
  ].join("\n");
}

export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = widest(rows.map(([left]) => left));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** Widest column; a long name from a server would otherwise pad every row. */
const maxColumnWidth = 80;

/** The width of a column with these cells; there may be more cells than a call accepts arguments. */
export function widest(cells: readonly string[]): number {
  const longest = cells.reduce((most, { length }) => Math.max(most, length), 0);
  return Math.min(longest, maxColumnWidth);
}
