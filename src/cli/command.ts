import { parseArgs } from "node:util";
import { Failure, oneLine } from "./failure.ts";

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
  readonly summary: string;
  /** What follows the verb, such as `<module> [options]`. */
  readonly usage: string;
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

export async function runCommand(verb: string, command: Command, args: string[]): Promise<void> {
  const { values, positionals } = parse(verb, { ...command.options, help }, args);
  if (values.help === true) console.log(helpOf(verb, command));
  else await command.run(values as Flags<Options>, positionals);
}

function parse(verb: string, options: Options, args: string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Failure(`${faultOf(error)}; see "callwire ${verb} --help"`, { cause: error });
  }
}

/** Node's sentences are long; the first one tells what is wrong. */
function faultOf(error: unknown): string {
  const { code } = error as { code?: string };
  const [, option = ""] = /'(-[^'\s]*)/.exec(oneLine(error)) ?? [];
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") return `there is no option ${option}`;
  if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") {
    return oneLine(error).includes("does not take")
      ? `${option} takes no value`
      : `${option} needs a value`;
  }
  return oneLine(error);
}

export function helpOf(verb: string, command: Command): string {
  const options = Object.entries({ ...command.options, help }).map(([name, option]) => {
    const short = option.short === undefined ? "" : `-${option.short}, `;
    const value = option.value === undefined ? "" : ` <${option.value}>`;
    return [`${short}--${name}${value}`, option.description] as const;
  });
  return [
    `callwire ${verb}: ${command.summary}`,
    "",
    `Usage: callwire ${verb} ${command.usage}`,
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
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
