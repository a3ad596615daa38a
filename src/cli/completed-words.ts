import { type Command, type Flags, help, type Option, parseWords, type Verbs } from "./command.ts";
import { connectionFlags } from "./connection-flags.ts";
import { isServerUrl } from "./link-from-url.ts";
import { namedServers } from "./named-servers.ts";
import type { serverOptions } from "./server-options.ts";

/** A word that fits where the cursor is. */
export interface CompletedWord {
  readonly word: string;
  readonly about: string;
}

/** A server that does not answer must not make the shell seem stuck. */
const methodsTimeout = "2s";

/** What may stand at the end of a command line that begins with the name of this program; none means a file. */
export async function completedWords(line: string, verbs: Verbs): Promise<CompletedWord[]> {
  const words = split(line);
  const current = words.pop() ?? "";
  const [, name, ...before] = words;
  const found =
    name === undefined
      ? Array.from(verbs, ([word, { summary }]) => ({ word, about: summary }))
      : await wordsOf(name, before, current, verbs);
  return found.filter(({ word }) => word.startsWith(current));
}

async function wordsOf(
  name: string,
  before: readonly string[],
  current: string,
  verbs: Verbs,
): Promise<CompletedWord[]> {
  const verb = verbs.get(name);
  if (verb === undefined) return [];
  const { command } = await verb.load();
  const given = new GivenWords({ ...command.options, help }, before);
  if (given.awaited !== undefined) return (given.awaited.values ?? []).map(plain);
  const [option, value] = current.split("=", 2) as [string, string?];
  if (value !== undefined && option.startsWith("--")) {
    const { values = [] } = command.options[option.slice(2)] ?? {};
    return values.map((each) => plain(`${option}=${each}`));
  }
  if (current.startsWith("-")) return given.rest();
  return argumentsOf(name, command, given.count, before);
}

async function argumentsOf(
  name: string,
  command: Command,
  at: number,
  before: readonly string[],
): Promise<CompletedWord[]> {
  // `<url | openrpc.json> <method> [options]`, or a word that stands for itself.
  const places = Array.from(command.usage.matchAll(/[<[]([^>\]]*)[>\]]|\S+/g));
  const [whole, place] = places[at] ?? [];
  if (whole === undefined || place === "options") return [];
  if (place === undefined) return [plain(whole)];
  const known = command.words?.[place];
  if (known !== undefined) return known.map(plain);
  if (place === "method") return methodsOf(name, command, before).catch(() => []);
  return place.split(" | ").includes("url") ? namedServers().catch(() => []) : [];
}

/** Asks the server that the line names; a program is not started for this. */
async function methodsOf(
  name: string,
  { options }: Command,
  before: readonly string[],
): Promise<CompletedWord[]> {
  const { values, positionals } = parseWords(name, options, before);
  const { values: flags, positionals: words } = await connectionFlags(options, values, positionals);
  const [source = ""] = words;
  if (!isServerUrl(source) || source.startsWith("stdio:")) return [];
  const { describedSource } = await import("./described-source.ts");
  const { methods } = await describedSource(source, {
    ...(flags as Flags<typeof serverOptions>),
    timeout: methodsTimeout,
  });
  return methods.map(({ name: word, summary = "" }) => ({ word, about: summary }));
}

/** The options and arguments before the cursor. */
class GivenWords {
  /** How many arguments there are. */
  count = 0;
  /** The option whose value stands at the cursor. */
  awaited: Option | undefined;
  readonly #options: Readonly<Record<string, Option>>;
  readonly #names = new Set<string>();

  constructor(options: Readonly<Record<string, Option>>, words: readonly string[]) {
    this.#options = options;
    for (const word of words) this.#add(word);
  }

  #add(word: string): void {
    if (this.awaited !== undefined) {
      this.awaited = undefined;
    } else if (/^-./.test(word)) {
      const [name, option] = this.#optionOf(word) ?? [];
      if (name !== undefined) this.#names.add(name);
      if (option?.type === "string" && !word.includes("=")) this.awaited = option;
    } else {
      this.count++;
    }
  }

  #optionOf(word: string): [string, Option] | undefined {
    const name = word.replace(/^-+/, "").replace(/=.*$/s, "");
    return Object.entries(this.#options).find(([long, { short }]) =>
      word.startsWith("--") ? long === name : short === name,
    );
  }

  /** The options that may still be given. */
  rest(): CompletedWord[] {
    return Object.entries(this.#options)
      .filter(([name, { multiple }]) => multiple === true || !this.#names.has(name))
      .map(([name, { description }]) => ({ word: `--${name}`, about: description }));
  }
}

function plain(word: string): CompletedWord {
  return { word, about: "" };
}

/** The words of a line, as shells split it; the last is empty after a space. */
function split(line: string): string[] {
  const words = [""];
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const c = line[at] as string;
    const isEscaped = c === "\\" && quote !== "'";
    if (quote === "" && /\s/.test(c)) {
      if (words.at(-1) !== "" || /["']/.test(line[at - 1] ?? "")) words.push("");
    } else if (c === quote) quote = "";
    else if (quote === "" && (c === '"' || c === "'")) quote = c;
    else words[words.length - 1] += isEscaped ? (line[++at] ?? "") : c;
  }
  return words;
}
