import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Failure, invalid } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { columns, wrapped } from "./text-columns.ts";

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
  /** The environment variable that sets it if the option is not given. */
  readonly env?: string;
  /** With one of these flags, the variable is ignored. */
  readonly unless?: readonly string[];
  /** The values, if they are few; shells complete them. */
  readonly values?: readonly string[];
}

export function option<
  const More extends Pick<Option, "short" | "multiple" | "env" | "unless" | "values"> = object,
>(value: string, description: string, more?: More) {
  return { type: "string", value, description, ...(more as More) } as const;
}

export function flag(description: string, env?: string) {
  return { type: "boolean", description, ...(env && { env }) } as const;
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
  /** What an argument may be, by its placeholder in the usage; shells complete it. */
  readonly words?: { readonly [placeholder: string]: readonly string[] };
  /** Lines that work when pasted, each with its purpose. */
  readonly examples: readonly (readonly [line: string, purpose: string])[];
  /** Resolves when the command is done; throws a Failure for anything that the user can fix. */
  run(flags: Flags<O>, positionals: readonly string[], verbs: Verbs): Promise<void>;
}

/** Infers the flags of a command from its options; the result hides that type. */
export function defineCommand<const O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command;
}

export const help: Option = { ...flag("show this help"), short: "h" };

/** All verbs by name, for those that are about others. */
export type Verbs = ReadonlyMap<string, Verb>;

export interface Verb {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

/** Completes the flags and the arguments of a verb before it runs. */
export type Complete = (
  options: Options,
  values: Record<string, unknown>,
  positionals: string[],
) => Promise<{ values: Record<string, unknown>; positionals: string[] }>;

export async function runVerb(
  name: string,
  verbs: Verbs,
  args: string[],
  complete: Complete,
): Promise<void> {
  const { summary, load } = verbs.get(name) as Verb;
  const { command } = await load();
  const parsed = parseWords(name, { ...command.options, help }, args);
  if (parsed.values.help === true) {
    console.log(helpOf(name, summary, command));
    return;
  }
  const given = withEnvironment(command.options, parsed.values);
  const { values, positionals } = await complete(command.options, given, parsed.positionals);
  await command.run(values as Flags<Options>, positionals, verbs);
}

/** Options that were not given take their values from the environment. */
function withEnvironment(options: Options, given: Parsed["values"]): Record<string, unknown> {
  const values: Record<string, unknown> = { ...given };
  for (const [name, { env, type, unless = [] }] of Object.entries(options)) {
    const text = env === undefined ? undefined : process.env[env];
    const isFree = values[name] === undefined && unless.every((other) => given[other] !== true);
    if (text === undefined || text === "" || !isFree) continue;
    if (type === "string") values[name] = text;
    else if (/^(1|true)$/i.test(text)) values[name] = true;
    else if (!/^(0|false)$/i.test(text)) throw invalid(`${env}`, "1 or 0", text);
  }
  return values;
}

/** Marks negative numbers so that they are not parsed as options; arguments cannot contain it. */
const negative = "\0";

type Parsed = Pick<ReturnType<typeof parseArgs>, "values" | "positionals">;

export function parseWords(verb: string, options: Options, args: readonly string[]): Parsed {
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
  const variables = [
    ...("bearer" in command.options ? [["CALLWIRE_TOKEN", "--bearer"] as const] : []),
    ...("cacert" in command.options
      ? [["CALLWIRE_CONFIG", "the file with servers for @name"] as const]
      : []),
    ...Object.entries(command.options).flatMap(([name, { env }]) =>
      env === undefined ? [] : [[env, `--${name}`] as const],
    ),
  ];
  return [
    ...wrapped(`callwire ${verb}: ${summary}`),
    "",
    ...wrapped(`Usage: callwire ${verb} ${command.usage}`, "  "),
    ...(command.about === undefined
      ? []
      : ["", ...command.about.split("\n").flatMap((line) => wrapped(line))]),
    "",
    "Options:",
    ...columns(options),
    ...(variables.length === 0 ? [] : ["", "Environment:", ...columns(variables)]),
    "",
    command.examples.length === 1 ? "Example:" : "Examples:",
    ...command.examples.flatMap(([line, purpose]) => [
      ...wrapped(`  # ${purpose}`, "  # "),
      `  ${line}`,
    ]),
  ].join("\n");
}
