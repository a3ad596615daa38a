import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Failure, oneLine } from "./failure.ts";
import { didYouMean } from "./nearest.ts";

export interface Option {
  readonly type: "string" | "boolean";
  readonly description: string;
  /** Stands for the value in the help: `--port <number>`. */
  readonly value?: string;
  readonly short?: string;
  /** May be given more than once; its value is then a list. */
  readonly multiple?: true;
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

/** A verb of the command line. Each one is a file in commands/ and an entry in main.ts. */
export interface Command<O extends Options = Options> {
  /** What follows the verb, such as `<module> [options]`. */
  readonly usage: string;
  /** What the usage leaves open, in a sentence. */
  readonly about?: string;
  readonly options: O;
  /** Lines that work when pasted, each with what it does. */
  readonly examples: readonly (readonly [line: string, meaning: string])[];
  /** Resolves when the command is done; throws a Failure for what the user can mend. */
  run(flags: Flags<O>, positionals: readonly string[]): Promise<void>;
}

/** Keeps the types of a command's own options inside it; outside all commands look the same. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command;
}

const help: Option = { type: "boolean", short: "h", description: "show this" };

/** An entry of the table of verbs; the command itself is loaded when it is asked for. */
export interface Verb {
  readonly summary: string;
  load(): Promise<Command>;
}

export async function runVerb(name: string, verb: Verb, args: string[]): Promise<void> {
  const command = await verb.load();
  const { values, positionals } = parse(name, { ...command.options, help }, args);
  if (values.help === true) console.log(helpOf(name, verb.summary, command));
  else await command.run(values as Flags<Options>, positionals);
}

/** Keeps negative numbers from being taken for options; no argument can hold it. */
const negative = "\0";

function parse(
  verb: string,
  options: Options,
  args: string[],
): Pick<ReturnType<typeof parseArgs>, "values" | "positionals"> {
  try {
    const marked = args.map((arg) => (/^-\d/.test(arg) ? negative + arg : arg));
    const { values, positionals } = parseArgs({ args: marked, options, allowPositionals: true });
    return {
      values: Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, unmarked(value)]),
      ),
      positionals: positionals.map(unmarked) as string[],
    };
  } catch (error) {
    const fault = faultOf(error, Object.keys(options));
    throw new Failure(fault.text + orSee(fault.guess, `callwire ${verb} --help`), { cause: error });
  }
}

function unmarked(value: unknown): never {
  if (Array.isArray(value)) return value.map(unmarked) as never;
  return (typeof value === "string" ? value.replace(negative, "") : value) as never;
}

/** What may have been meant, if anything, and where to read on. */
export function orSee(guess: string, help: string): string {
  return guess === "" ? `; see "${help}"` : `${guess} See "${help}"`;
}

/** Node's sentences are long; the first one tells what is wrong. */
function faultOf(error: unknown, names: readonly string[]): { text: string; guess: string } {
  const { code } = error as { code?: string };
  const [, option = ""] = /'(-[^'\s]*)/.exec(oneLine(error)) ?? [];
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const guess = didYouMean(option.replace(/^-+/, ""), names, (name) => `--${name}`);
    return { text: `there is no option ${option}`, guess };
  }
  if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") {
    const isTooMuch = oneLine(error).includes("does not take");
    return { text: `${option} ${isTooMuch ? "takes no value" : "needs a value"}`, guess: "" };
  }
  return { text: oneLine(error), guess: "" };
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
    ...command.examples.flatMap(([line, meaning]) => [`  # ${meaning}`, `  ${line}`]),
  ].join("\n");
}

/** Lines of two columns, the second aligned. */
export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = widest(rows.map(([left]) => left));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** A column is never wider, so that one long name from a server does not multiply by the number of rows. */
const mostCharacters = 80;

/** The width of a column that these stand in. There may be more of them than a call takes arguments. */
export function widest(texts: readonly string[]): number {
  const longest = texts.reduce((most, { length }) => Math.max(most, length), 0);
  return Math.min(longest, mostCharacters);
}

const file = fileURLToPath(import.meta.resolve("callwire/package.json"));

export const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
