import { defineCommand, type Options } from "../command.ts";
import { oneOf, onlyArgument } from "../command-arguments.ts";
import { invalid } from "../failure.ts";

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly { readonly flag: string; readonly about: string }[];
}

const shells: Readonly<Record<string, (all: readonly Verb[]) => string>> = { bash, zsh, fish };

export const command = defineCommand({
  usage: "<bash | zsh | fish>",
  options: {},
  examples: [
    ["callwire completion bash >> ~/.bashrc", "in every new shell"],
    ["callwire completion fish > ~/.config/fish/completions/callwire.fish", "for fish"],
  ],
  async run(_, positionals, verbs) {
    const shell = onlyArgument("completion", "the name of a shell", positionals);
    const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
    if (write === undefined) throw invalid("the shell", oneOf(Object.keys(shells)), shell);
    const all = await Promise.all(
      Array.from(verbs, async ([name, { summary, load }]): Promise<Verb> => {
        const { command: verb } = await load();
        return { name, summary, options: flagsOf(verb.options) };
      }),
    );
    process.stdout.write(write(all));
  },
});

function flagsOf(options: Options): Verb["options"] {
  const own = Object.entries(options).map(([name, { description }]) => ({
    flag: `--${name}`,
    about: description,
  }));
  return [...own, { flag: "--help", about: "show this help" }];
}

function bash(all: readonly Verb[]): string {
  const cases = all.map(
    ({ name, options }) => `    ${name}) words="${options.map(({ flag }) => flag).join(" ")}" ;;`,
  );
  return `_callwire() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${all.map(({ name }) => name).join(" ")}"
  else
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    esac
    [[ "$word" == -* ]] || words=""
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _callwire callwire
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function zsh(all: readonly Verb[]): string {
  const cases = all.map(({ name, options }) => {
    const flags = options.map(({ flag, about }) => quoted(`${flag}:${about}`));
    return `    ${name}) words=(${flags.join(" ")}) ;;`;
  });
  return `#compdef callwire
_callwire() {
  local -a words
  if (( CURRENT == 2 )); then
    words=(${all.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(" ")})
    _describe command words
    return
  fi
  case "\${(Q)\${(z)BUFFER}[2]}" in
${cases.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option words; else _files; fi
}
compdef _callwire callwire
`;
}

function fish(all: readonly Verb[]): string {
  const lines = all.flatMap(({ name, summary, options }) => [
    `complete -c callwire -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...options.map(
      ({ flag, about }) =>
        `complete -c callwire -n "__fish_seen_subcommand_from ${name}" -l ${flag.slice(2)} -d ${quoted(about)}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}
